/// Whether an app's route may be used, as stored, so that a closed route stays closed after a restart and on other
/// servers. Drawn in `docs/states.md`.
package struct RouteGate: Sendable, Hashable {
    /// The raw value is stored. A closed route that is being probed keeps the state that closed it.
    package enum State: Int64, Sendable, Hashable {
        case open = 0
        case paused = 1
        case stopped = 2
    }

    /// What people see of the state.
    package enum Status: String, CaseIterable, Sendable, Hashable {
        case open, paused, probing, stopped
    }

    package let route: ActiveRoute
    package var state: State
    /// When the next probe may begin; ignored while the route is open.
    package var closedUntil: Timestamp
    /// Until when Peal waits for the current probe; zero if there is none.
    package var probeUntil: Timestamp
    /// How often in a row answers closed the route, and how often requests could not be sent.
    package var level: Int
    package var backOffs: Int
    /// Why it is closed; empty when it is open.
    package var reason: String
    /// The credential whose use closed it; nil when unknown.
    package var fingerprint: String?
    /// The message whose refusal stopped it.
    package var suspect: MessageID?
    /// The last message that a probe used; the next probe continues after it.
    package var probed: MessageID?
    /// The number of the change that led to this state; the store numbers the changes of all gates.
    package var change: Int64

    package init(
        _ route: ActiveRoute, _ state: State = .open, closedUntil: Timestamp = Timestamp(milliseconds: 0),
        probeUntil: Timestamp = Timestamp(milliseconds: 0), level: Int = 0, backOffs: Int = 0, reason: String = "",
        fingerprint: String? = nil, suspect: MessageID? = nil, probed: MessageID? = nil, change: Int64 = 0
    ) {
        self.route = route
        self.state = state
        self.closedUntil = closedUntil
        self.probeUntil = probeUntil
        self.level = level
        self.backOffs = backOffs
        self.reason = reason
        self.fingerprint = fingerprint
        self.suspect = suspect
        self.probed = probed
        self.change = change
    }

    /// Whether it was stored before the clock was set back: the pause or the probe ends later than any that is stored
    /// now.
    package func isAhead(of now: Timestamp) -> Bool {
        state != .open
            && (closedUntil > now + .seconds(Limits.providerWaitSecondsMax + ClockOffset.toleranceSeconds)
                || probeUntil > now + .seconds(Limits.probeSeconds + ClockOffset.toleranceSeconds))
    }

    package func status(at now: Timestamp) -> Status {
        switch state {
        case .open: .open
        case .paused where probeUntil > now, .stopped where probeUntil > now: .probing
        case .paused: .paused
        case .stopped: .stopped
        }
    }
}

/// The work that is waiting on one route of an app.
package struct RouteLoad: Sendable, Hashable {
    /// Devices without an outcome, by estimate.
    package var pending = 0
    /// When the oldest message with such devices was accepted.
    package var oldestAt: Timestamp?

    package init() {}
}

/// Routes with slices that can be leased, found by one scan of the index.
package struct ReadyRoutes: Sendable, Hashable {
    package var routes: [ActiveRoute] = []
    /// Where the next scan continues; nil if this one has visited all routes.
    package var resumeAfter: ActiveRoute?

    package init() {}
}

/// A closed route on which slices wait, for metrics.
package struct ParkedRoute: Sendable, Hashable {
    package let app: AppID
    package let route: Route
    /// Whether a person must act; otherwise it opens by itself.
    package let isStopped: Bool
    package let slices: Int
    /// When the oldest message that waits was accepted.
    package let oldestAt: Timestamp

    package init(app: AppID, route: Route, isStopped: Bool, slices: Int, oldestAt: Timestamp) {
        self.isStopped = isStopped
        self.app = app
        self.route = route
        self.slices = slices
        self.oldestAt = oldestAt
    }
}
