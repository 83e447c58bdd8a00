import PealCore
import Synchronization

/// An in-memory substitute for APNs' channels.
final class FakeChannels: ChannelDirectory {
    private struct Name: Hashable {
        let environment: Environment
        let id: String
    }

    private let channels = Mutex<[Name: ChannelStoragePolicy]>([:])

    /// Ids contain every character that a path must escape.
    func create(_ policy: ChannelStoragePolicy, _ access: ChannelAccess) async throws(PealError) -> String {
        channels.withLock { channels in
            let id = "a+/\(channels.count)AAA="
            channels[Name(environment: access.environment, id: id)] = policy
            return id
        }
    }

    func list(_ access: ChannelAccess) async throws(PealError) -> [String] {
        channels.withLock { $0.keys.filter { $0.environment == access.environment }.map(\.id) }
    }

    func read(_ channel: String, _ access: ChannelAccess) async throws(PealError) -> ChannelStoragePolicy {
        // APNs' answer for an unknown id: `400 BadChannelId`.
        guard channel.count > 1 else { throw .invalid("id", "APNs answered 400 BadChannelId") }
        let policy = channels.withLock { $0[Name(environment: access.environment, id: channel)] }
        guard let policy else { throw .notFound("channel") }
        return policy
    }

    func delete(_ channel: String, _ access: ChannelAccess) async throws(PealError) {
        guard channel.count > 1 else { throw .invalid("id", "APNs answered 400 BadChannelId") }
        let old = channels.withLock { $0.removeValue(forKey: Name(environment: access.environment, id: channel)) }
        guard old != nil else { throw .notFound("channel") }
    }
}
