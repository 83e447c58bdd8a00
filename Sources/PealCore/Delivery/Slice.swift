/// A leased part of a message's audience: the unit of work. A range slice covers the keys `keyFrom...keyTo`; a list
/// slice covers only `keys` of them (retries, explicit audiences).
package struct Slice: Sendable, Hashable {
    package struct ID: Sendable, Hashable {
        package let app: AppKey
        package let message: MessageID
        package let route: Route
        /// The number of the key range; `addressWindow` for addresses that no device owns, `momentWindow` for alerts of
        /// moments.
        package let window: Int64
        /// 0 for the range itself, a random positive number for each list cut out of it.
        package let part: Int64

        package init(app: AppKey, message: MessageID, route: Route, window: Int64, part: Int64) {
            self.app = app
            self.message = message
            self.route = route
            self.window = window
            self.part = part
        }

        package static let addressWindow: Int64 = -1
        package var holdsAddresses: Bool { window == Self.addressWindow }
        /// Alerts of a message with a delivery window: the outcome of each is the outcome of its user's moment.
        package static let momentWindow: Int64 = -2
        package var isMoment: Bool { window == Self.momentWindow }
    }

    package var id: ID
    /// The number of sends tried before.
    package var attempt: Int
    package var keyFrom: DeviceKey
    package var keyTo: DeviceKey
    /// Sorted; nil = every key of the range that the audience holds.
    package var keys: [DeviceKey]?
    /// Every key up to here is settled.
    package var cursor: DeviceKey
    /// The number of rows written to the delivery log so far.
    package var pageCount: Int
    package var estimate: Int
    package var counts: OutcomeCounts
    /// Counts the leases of this slice. A settlement must name the current one.
    package var term: Int64
    package var lane: Lane

    package init(
        id: ID, attempt: Int = 0, keyFrom: DeviceKey, keyTo: DeviceKey, keys: [DeviceKey]? = nil, cursor: DeviceKey,
        pageCount: Int = 0, estimate: Int, counts: OutcomeCounts = .init(), term: Int64 = 0, lane: Lane
    ) {
        self.id = id
        self.attempt = attempt
        self.keyFrom = keyFrom
        self.keyTo = keyTo
        self.keys = keys
        self.cursor = cursor
        self.pageCount = pageCount
        self.estimate = estimate
        self.counts = counts
        self.term = term
        self.lane = lane
    }

    /// Small messages do not wait behind large ones. The raw value is stored, and slices are sorted by it.
    package enum Lane: Int64, Sendable, Hashable {
        case direct = 0
        case bulk = 1
    }

    /// The life of a slice; `docs/states.md` draws it. The raw value is stored.
    package enum State: Int64, CaseIterable, Sendable, Hashable {
        /// Due later.
        case waiting = 0
        case ready = 1
        case leased = 2
        /// Its message is paused.
        case held = 3
    }
}
