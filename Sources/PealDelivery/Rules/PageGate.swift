internal import PealCore

/// Decides, between reading and rendering, which devices of a page are sent to now. `AppGate` applies the rules of apps
/// and messages; tests have their own rules.
protocol PageGate: Sendable {
    func needs(of job: DeliveryJob, in slice: Slice.ID) async throws -> GateNeeds

    /// The rates that limit the message.
    func rates(of job: DeliveryJob, in slice: Slice.ID) async throws -> GateRates

    /// - Parameter isSorting: Whether devices may be sent to later than now, so that nothing is counted for them yet.
    /// - Returns: The devices that are not sent to now, each once; all others are.
    func rule(
        on page: DevicePage, of job: DeliveryJob, in slice: Slice.ID, isSorting: Bool, at now: Timestamp
    ) async throws -> [PageRuling]

    /// Stops counting the message for a frequency cap of devices that passed the rules but were not sent to.
    func uncount(_ keys: [DeviceKey], of job: DeliveryJob, in slice: Slice.ID) async throws

    /// Drops what was read from the store: after a failover, a number there may stand for something else.
    func forget()
}

/// What a gate needs in order to rule on the devices of a message.
struct GateNeeds: Sendable, Hashable {
    /// Whether it needs `DevicePage.people`, which take some time to read.
    var people = false
    /// Whether key ranges are sorted by instants before they are sent (`SortPass`), because many devices may wait.
    var sorting = false
}

/// The maximum numbers of notifications per second, for an app and for one message; nil for no limit.
struct GateRates: Sendable, Hashable {
    var ofApp: Int64?
    var ofMessage: Int64?

    var isLimited: Bool { ofApp != nil || ofMessage != nil }
}

extension PageGate {
    func rates(of job: DeliveryJob, in slice: Slice.ID) async throws -> GateRates { GateRates() }
    func uncount(_ keys: [DeviceKey], of job: DeliveryJob, in slice: Slice.ID) async throws {}
    func forget() {}
}

/// What was decided about one device of a page without asking the provider.
struct PageRuling: Sendable, Hashable {
    enum Decision: Sendable, Hashable {
        /// It is sent to later. The attempt does not count.
        case hold(Hold)
        /// It is never sent to.
        case suppress(HoldReason)
        /// The message cannot be rendered for it.
        case reject(reason: String)
    }

    /// The device's index in the page.
    let index: Int
    let decision: Decision

    /// Until when a device waits, and why.
    struct Hold: Sendable, Hashable {
        let until: Timestamp
        let reason: HoldReason

        /// When the device's turn is: not after the message's end, when it expires, and not so late that the store
        /// would take it for a time from before the clock was set back.
        func turn(_ life: PlatformLife, now: Timestamp) -> Timestamp {
            min(until, life.end, now + .seconds(Limits.holdSecondsMax))
        }
    }
}
