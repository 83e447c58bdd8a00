/// Makes, shows and removes broadcast channels. APNs keeps them; what is kept here is who did it.
package struct ChannelVerbs: Sendable {
    package let store: any Store
    package let directory: any ChannelDirectory

    package init(store: any Store, directory: any ChannelDirectory) {
        self.store = store
        self.directory = directory
    }

    /// An app's channels in one environment.
    package struct Place: Sendable, Hashable {
        package let app: AppKey
        package let environment: Environment

        package init(app: AppKey, environment: Environment) {
            self.app = app
            self.environment = environment
        }
    }

    /// Makes a channel; a repeated request makes none. Its answer is kept after APNs made the channel: a server that
    /// ends between the two leaves one that `list` shows.
    /// - Parameter reply: takes the channel's id.
    /// - Throws: `conflict` without an APNs credential; what `ChannelDirectory.create` throws.
    package func create(
        _ policy: ChannelStoragePolicy, at place: Place, _ call: VerbCall,
        reply: @escaping @Sendable (String) throws -> Reply
    ) async throws -> Reply {
        if let request = call.request, let kept = try await store.answer(keptFor: request, now: call.now) {
            return kept
        }
        let channel = try await directory.create(policy, try await access(place))
        return try await store.commit(.control, call, reply: reply) { store in
            try store.audit(
                call, app: place.app, "channel.create", "channel \(channel) \(place.environment.rawValue)")
            return channel
        }.reply
    }

    /// Ids of the app's channels, sorted.
    /// - Throws: `conflict` without an APNs credential; what `ChannelDirectory.list` throws.
    package func list(at place: Place) async throws -> [String] {
        try await directory.list(try await access(place)).sorted()
    }

    /// - Throws: `conflict` without an APNs credential; `not_found`; what `ChannelDirectory.read` throws.
    package func read(_ channel: String, at place: Place) async throws -> ChannelStoragePolicy {
        try await directory.read(channel, try await access(place))
    }

    /// - Throws: `conflict` without an APNs credential; `not_found`; what `ChannelDirectory.delete` throws.
    package func delete(_ channel: String, at place: Place, _ call: VerbCall) async throws {
        try await directory.delete(channel, try await access(place))
        try await store.write(.control) { store in
            try store.audit(
                call, app: place.app, "channel.delete", "channel \(channel) \(place.environment.rawValue)")
        }
    }

    private func access(_ place: Place) async throws -> ChannelAccess {
        let known = try await store.read { store in
            try store.credential(app: place.app, provider: .apns, environment: place.environment)
        }
        guard let known else {
            throw PealError(.conflict, "the app has no APNs credential for \(place.environment.rawValue)")
        }
        return ChannelAccess(
            credential: known.credential, fingerprint: known.record.fingerprint, environment: place.environment)
    }
}

/// The broadcast channels of apps at APNs, which keeps them; nothing of them is stored here.
package protocol ChannelDirectory: Sendable {
    /// Makes a channel and gives its id.
    /// - Throws: `invalid_field`, `rate_limited`, `unavailable`, or `conflict` with Apple's reason.
    func create(_ policy: ChannelStoragePolicy, _ access: ChannelAccess) async throws(PealError) -> String

    /// Ids of the app's channels.
    func list(_ access: ChannelAccess) async throws(PealError) -> [String]

    /// - Throws: `not_found` for a channel that there is not.
    func read(_ channel: String, _ access: ChannelAccess) async throws(PealError) -> ChannelStoragePolicy

    /// - Throws: `not_found` for a channel that there is not.
    func delete(_ channel: String, _ access: ChannelAccess) async throws(PealError)
}

/// The channels of a server without a network that has any.
package struct NoChannels: ChannelDirectory {
    package init() {}

    private static let refusal = PealError.unsupported("channels")

    package func create(_ policy: ChannelStoragePolicy, _ access: ChannelAccess) async throws(PealError) -> String {
        throw Self.refusal
    }

    package func list(_ access: ChannelAccess) async throws(PealError) -> [String] { throw Self.refusal }

    package func read(_ channel: String, _ access: ChannelAccess) async throws(PealError) -> ChannelStoragePolicy {
        throw Self.refusal
    }

    package func delete(_ channel: String, _ access: ChannelAccess) async throws(PealError) { throw Self.refusal }
}

/// Whether APNs keeps the newest message of a channel for devices that are away.
package enum ChannelStoragePolicy: Int64, CaseIterable, Sendable, Hashable {
    case none = 0
    case mostRecent = 1
}

/// Under which credential, and where, channels are asked for.
package struct ChannelAccess: Sendable {
    package let credential: Credential
    package let fingerprint: String
    package let environment: Environment

    package init(credential: Credential, fingerprint: String, environment: Environment) {
        self.credential = credential
        self.fingerprint = fingerprint
        self.environment = environment
    }
}
