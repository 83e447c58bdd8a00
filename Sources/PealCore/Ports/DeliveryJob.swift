/// A message as a worker sees it.
package struct DeliveryJob: Sendable {
    package let message: Message
    package let content: Content
    package let options: MessageOptions
    /// Whether the message is kept out of statistics.
    package let isTest: Bool

    package init(message: Message, content: Content, options: MessageOptions, isTest: Bool = false) {
        self.message = message
        self.content = content
        self.options = options
        self.isTest = isTest
    }

    /// The job that a worker will see for the draft.
    package init(_ draft: MessageDraft) {
        self.init(message: Message(draft), content: draft.content, options: draft.options, isTest: draft.isTest)
    }

    /// The effective options on one platform.
    package func options(on platform: Platform) -> MessageOptions {
        let options = options.resolved(for: platform, in: content)
        return message.windowUntil == nil ? options : options.inWindow(of: message.id, on: platform)
    }
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

package struct Plan: Sendable {
    package let state: Message.State
    package let leasedSlices: [Slice]

    package init(state: Message.State, leasedSlices: [Slice]) {
        self.state = state
        self.leasedSlices = leasedSlices
    }
}

/// A row of the delivery log, and its location in the store.
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

/// Receives the verbs' announcements of committed work. The store remains authoritative: an engine that misses a call
/// finds the work in the store a moment later.
package protocol DeliveryEngine: Sendable {
    /// The name under which this process leases slices.
    var owner: String { get }
    /// Whether it takes slices at all; false while nothing is sent.
    var takesSlices: Bool { get }
    /// Takes slices that were leased to `owner` in the transaction that accepted their message.
    func take(_ slices: [Slice])
    /// Announces committed work.
    func wake()
    /// The message was paused, cancelled or resumed: start no further request for it.
    func interrupt(_ message: MessageID)
    /// The app's credentials changed: discard what the engine has cached of them.
    func credentialsChanged(app: AppKey, provider: ProviderName, environment: Environment)
}

extension DeliveryEngine {
    package var takesSlices: Bool { true }

    /// The name for leases in the transaction that accepts a message; nil while there are none.
    var ownerForLeases: String? { takesSlices ? owner : nil }
}
