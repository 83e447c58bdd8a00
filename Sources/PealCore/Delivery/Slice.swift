/// A leased part of a message's audience: the unit of work. A range slice covers the keys `keyFrom...keyTo`; a list
/// slice covers only `keys` of them (retries, explicit audiences).
package struct Slice: Sendable, Hashable {
    package struct ID: Sendable, Hashable {
        package let app: AppKey
        package let message: MessageID
        package var route: Route
        /// The first key of the key range; `addressRange` for unregistered addresses, `momentRange` for alerts of
        /// moments.
        package var rangeStart: Int64
        /// 0 for the range itself, a random positive number for each list that was split from it.
        package var part: Int64

        package init(app: AppKey, message: MessageID, route: Route, rangeStart: Int64, part: Int64) {
            self.app = app
            self.message = message
            self.route = route
            self.rangeStart = rangeStart
            self.part = part
        }

        package static let addressRange: Int64 = -1
        package var holdsAddresses: Bool { rangeStart == Self.addressRange }
        /// Alerts of a message with a delivery window: the outcome of each alert is the outcome of its user's moment.
        package static let momentRange: Int64 = -2
        package var isMoment: Bool { rangeStart == Self.momentRange }

        /// The way that its devices are reached.
        package var activeRoute: ActiveRoute { ActiveRoute(app: app, route: route) }
    }

    package var id: ID
    /// The number of earlier attempts.
    package var attempt: Int
    package var keyFrom: DeviceKey
    package var keyTo: DeviceKey
    /// Sorted; nil for all keys of the range in the audience.
    package var keys: [DeviceKey]?
    /// Every key up to this one is settled.
    package var cursor: DeviceKey
    /// The number of rows written to the delivery log so far.
    package var pageCount: Int
    package var estimate: Int
    package var counts: OutcomeCounts
    /// Counts the leases of this slice. A settlement must name the current one.
    package var term: Int64
    package var lane: Lane
    /// How many of the next devices after the cursor may have got the message already, from a request whose answer was
    /// lost or from a process that died. They are sent to again, and counted as resent.
    package var doubt: Int
    /// Whether this lease of it is for a probe of its closed route. Not stored.
    package var isProbe = false
    /// Whether it is the only slice that its message ever had, so that its end is the message's. Not stored: false for
    /// a slice that was read from the store.
    package var isOnly = false

    package init(
        id: ID, attempt: Int = 0, keyFrom: DeviceKey, keyTo: DeviceKey, keys: [DeviceKey]? = nil, cursor: DeviceKey,
        pageCount: Int = 0, estimate: Int, counts: OutcomeCounts = .init(), term: Int64 = 0, lane: Lane, doubt: Int = 0
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
        self.doubt = doubt
    }

    /// The slice under its current lease.
    package var lease: Lease { Lease(id: id, term: term) }

    /// One lease of a slice.
    package struct Lease: Sendable, Hashable {
        package let id: ID
        package let term: Int64

        package init(id: ID, term: Int64) {
            self.id = id
            self.term = term
        }
    }

    /// Small messages do not wait behind large ones. The raw value is stored, and slices are sorted by it.
    package enum Lane: Int64, Sendable, Hashable {
        case direct = 0
        case bulk = 1

        /// The most devices of a slice that can be in flight at once, and so be repeated after a crash.
        package var devicesInFlightMax: Int {
            switch self {
            case .direct: Limits.directDevicesMax
            case .bulk: Limits.pagesInFlightPerSliceMax * Limits.pageDevicesMax
            }
        }
    }

    /// The states of a slice, drawn in `docs/states.md`. The raw value is stored.
    package enum State: Int64, CaseIterable, Sendable, Hashable {
        /// Not due yet.
        case waiting = 0
        case ready = 1
        case leased = 2
        /// Its message is paused.
        case held = 3
        /// Settled completely. It is kept until its message ends, because its counts are part of the message's.
        case done = 4
        /// The results of its devices cannot be stored. No worker processes it until its message is resumed or ends.
        case quarantined = 5
        /// Its message ended first: its devices are settled without being sent to, even if its route is closed.
        case ending = 6
    }
}

/// A slice that cannot be read from the database.
package struct UnreadableSlice: Sendable, Hashable {
    /// The message's id as far as it can be read.
    package let message: String
    package let rangeStart: Int64
    package let reason: String

    package init(message: String, rangeStart: Int64, reason: String) {
        self.message = message
        self.rangeStart = rangeStart
        self.reason = reason
    }
}

/// A slice whose results cannot be stored.
package struct QuarantinedSlice: Sendable, Hashable {
    package let app: AppID
    package let message: MessageID
    package let route: Route
    /// Devices without a stored result.
    package let devices: Int
    /// Why its last settlement could not be stored.
    package let reason: String

    package init(app: AppID, message: MessageID, route: Route, devices: Int, reason: String) {
        self.app = app
        self.message = message
        self.route = route
        self.devices = devices
        self.reason = reason
    }
}
