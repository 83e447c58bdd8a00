import Synchronization

/// The channels of WNS and MPNS that are not well, by URI.
package final class ChannelStates: Sendable {
    private let states = Mutex<[String: ChannelState]>([:])

    /// All channels are well.
    package init() {}

    /// Puts `uri` into `state`. Throws when there are too many.
    package func set(_ state: ChannelState, uri: String) throws {
        try states.withLock { states in
            guard states[uri] != nil || states.count < SimulatorLimits.devicesMarkedMax else {
                throw SimulatorError("channels: no more than \(SimulatorLimits.devicesMarkedMax)")
            }
            states[uri] = state
        }
    }

    /// Makes `uri` well again. Says whether it was not.
    package func remove(uri: String) -> Bool {
        states.withLock { $0.removeValue(forKey: uri) != nil }
    }

    func state(of uri: String) -> ChannelState? {
        states.withLock { $0[uri] }
    }
}
