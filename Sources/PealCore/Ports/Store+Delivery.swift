package protocol DeliveryReading {
    /// Everything a worker needs of a message besides its devices.
    func job(app: AppKey, id: MessageID) throws -> DeliveryJob?
    /// Who of the slice's range is in the audience now, without what is settled.
    func candidates(of slice: Slice) throws -> KeySet
    /// The next devices of `candidates` after `cursor`, with addresses.
    func page(
        of slice: Slice, candidates: KeySet, after cursor: DeviceKey, limit: Int, now: Timestamp
    ) throws -> DevicePage
    /// The name of a number in `DevicePage.locales`.
    func locale(_ number: Int32) throws -> String?
    /// Routes that have slices ready to be leased.
    func readyRoutes() throws -> [ActiveRoute]
    /// The next instant at which something becomes due: a scheduled message or a waiting slice.
    func nextDueAt() throws -> Timestamp?
    /// Rows of the delivery log that may hold the device's outcome, oldest first.
    func logRows(app: AppKey, message: MessageID, route: Route, key: DeviceKey, inAddresses: Bool) throws
        -> [StoredLogRow]
    /// Number of an unregistered address in the message; nil when it is not part of it.
    func addressNumber(app: AppKey, message: MessageID, address: Address) throws -> DeviceKey?
    /// How often things happened and how much waits, for metrics.
    func census() throws -> StoreCensus
}

package protocol DeliveryWriting {
    /// Messages whose start has come, moved to planning, and messages found in planning. At most `limit`.
    func dueMessages(now: Timestamp, limit: Int) throws -> [(app: AppKey, id: MessageID)]
    /// Frees waiting slices that are due. Returns how many.
    func releaseDueSlices(now: Timestamp, limit: Int) throws -> Int
    /// Frees slices that wait although none of their devices was tried: their route was closed and is open again.
    func freeUntriedSlices(of route: ActiveRoute) throws
    /// Ends paused messages whose expiry has passed, at most `limit`: one of which something was sent goes on, so that
    /// its workers settle the rest; another is expired. Returns how many.
    func endPausedMessages(now: Timestamp, limit: Int) throws -> Int
    /// Leases ready slices of one route in order of lane and rank.
    func lease(
        _ route: ActiveRoute, limit: Int, owner: String, until: Timestamp, now: Timestamp
    ) throws -> [Slice]
    /// Extends leases that are still the owner's. Returns those that are.
    func extendLeases(_ slices: [(id: Slice.ID, term: Int64)], owner: String, until: Timestamp) throws -> [Slice.ID]
    /// Takes back leases: those that ended before `now`, or with nil every one (a start of the only process).
    func takeBackLeases(endedBefore now: Timestamp?) throws -> Int
    /// Applies each settlement whose lease still holds; one row's fate never touches another's.
    func settle(_ settlements: [Settlement], now: Timestamp) throws -> [Settlement.Result]
    /// Deletes what is past its time, at most `limit` rows a call; returns how many went.
    func prune(now: Timestamp, limit: Int) throws -> Int
}

/// An app's way through one push network.
package struct ActiveRoute: Sendable, Hashable {
    package let app: AppKey
    package let route: Route

    package init(app: AppKey, route: Route) {
        self.app = app
        self.route = route
    }
}

/// A message as a worker sees it.
package struct DeliveryJob: Sendable {
    package let message: Message
    package let content: Content
    package let options: MessageOptions

    package init(message: Message, content: Content, options: MessageOptions) {
        self.message = message
        self.content = content
        self.options = options
    }

    /// The draft as a worker will see it.
    package init(_ draft: MessageDraft) {
        self.init(message: Message(draft), content: draft.content, options: draft.options)
    }

    /// The options in force on one platform.
    package func options(on platform: Platform) -> MessageOptions {
        let options = options.resolved(for: platform, in: content)
        return message.windowUntil == nil ? options : options.inWindow(of: message.id, on: platform)
    }
}

/// A row of the delivery log with its place.
package struct StoredLogRow: Sendable {
    package let slice: Slice.ID
    package let page: Int
    package let row: Settlement.LogRow

    package init(slice: Slice.ID, page: Int, row: Settlement.LogRow) {
        self.slice = slice
        self.page = page
        self.row = row
    }
}

/// Numbers for metrics.
package struct StoreCensus: Sendable, Hashable {
    package var messagesUnfinished = 0
    package var slicesReady = 0
    package var slicesWaiting = 0
    package var slicesLeased = 0
    package var appsStopped = 0

    package init() {}
}
