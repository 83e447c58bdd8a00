import Synchronization

/// The broadcast channels of all apps, each environment apart.
package final class BroadcastChannels: Sendable {
    private struct Owner: Hashable {
        let environment: PushEnvironment
        let bundleID: String
    }

    private struct Channel {
        let id: String
        let keepsNewest: Bool
    }

    private let channels = Mutex<[Owner: [Channel]]>([:])

    /// No channels.
    package init() {}

    /// Adds a channel of an app; says no when the app has too many.
    func add(_ id: String, keepsNewest: Bool, environment: PushEnvironment, bundleID: String) -> Bool {
        channels.withLock { channels in
            let owner = Owner(environment: environment, bundleID: bundleID)
            guard channels[owner, default: []].count < SimulatorLimits.channelsPerAppMax else { return false }
            channels[owner, default: []].append(Channel(id: id, keepsNewest: keepsNewest))
            return true
        }
    }

    /// Whether a channel keeps the newest message; nil when there is no such channel.
    func keepsNewest(_ id: String, environment: PushEnvironment, bundleID: String) -> Bool? {
        channels.withLock { channels in
            channels[Owner(environment: environment, bundleID: bundleID)]?.first { $0.id == id }?.keepsNewest
        }
    }

    /// Takes a channel away; says whether there was one.
    func remove(_ id: String, environment: PushEnvironment, bundleID: String) -> Bool {
        channels.withLock { channels in
            let owner = Owner(environment: environment, bundleID: bundleID)
            guard let place = channels[owner]?.firstIndex(where: { $0.id == id }) else { return false }
            channels[owner]?.remove(at: place)
            return true
        }
    }

    /// The ids of an app's channels, in the order they were made.
    func ids(environment: PushEnvironment, bundleID: String) -> [String] {
        channels.withLock { $0[Owner(environment: environment, bundleID: bundleID), default: []].map(\.id) }
    }
}
