/// Creates, shows and deletes broadcast channels. APNs stores them; Peal only records who changed them.
package struct ChannelVerbs: Sendable {
    let store: any Store
    let directory: any ChannelDirectory

    /// An app's channels in one environment.
    package struct Scope: Sendable, Hashable {
        package let app: AppKey
        package let environment: Environment

        package init(app: AppKey, environment: Environment) {
            self.app = app
            self.environment = environment
        }
    }

    /// Creates a channel; a repeated request does not create another. The answer is stored after APNs has created the
    /// channel: if the server ends in between, `list` shows the channel.
    /// - Parameter reply: Receives the channel's id.
    /// - Throws: `conflict` without an APNs credential; what `ChannelDirectory.create` throws.
    package func create(
        _ policy: ChannelStoragePolicy, at scope: Scope, _ call: VerbCall,
        reply: @escaping @Sendable (String) throws -> Reply
    ) async throws -> Reply {
        if let request = call.request, let kept = try await store.answer(keptFor: request, now: call.now) {
            return kept
        }
        let channel = try await directory.create(policy, try await access(scope))
        return try await store.commit(.control, call, reply: reply) { store in
            try store.audit(
                call, app: scope.app, "channel.create", "channel \(channel) \(scope.environment.rawValue)")
            return channel
        }.reply
    }

    /// The ids of the app's channels, sorted.
    /// - Throws: `conflict` without an APNs credential; what `ChannelDirectory.list` throws.
    package func list(at scope: Scope) async throws -> [String] {
        try await directory.list(try await access(scope)).sorted()
    }

    /// - Throws: `conflict` without an APNs credential; `not_found`; what `ChannelDirectory.read` throws.
    package func read(_ channel: String, at scope: Scope) async throws -> ChannelStoragePolicy {
        try await directory.read(channel, try await access(scope))
    }

    /// - Throws: `conflict` without an APNs credential; `not_found`; what `ChannelDirectory.delete` throws.
    package func delete(_ channel: String, at scope: Scope, _ call: VerbCall) async throws {
        try await directory.delete(channel, try await access(scope))
        try await store.write(.control) { store in
            try store.audit(
                call, app: scope.app, "channel.delete", "channel \(channel) \(scope.environment.rawValue)")
        }
    }

    private func access(_ scope: Scope) async throws -> ChannelAccess {
        guard let network = Networks.broadcasting else { throw PealError.unsupported("channels") }
        let known = try await store.read { store in
            try store.credential(
                at: CredentialSlot(app: scope.app, provider: network.name, environment: scope.environment))
        }
        guard let known else {
            throw PealError(.conflict, "the app has no \(network.title) credential for \(scope.environment.rawValue)")
        }
        return ChannelAccess(
            credential: known.credential, fingerprint: known.record.fingerprint, environment: scope.environment)
    }
}

/// The broadcast channels of apps at APNs. APNs stores them; Peal does not.
package protocol ChannelDirectory: Sendable {
    /// Creates a channel and returns its id.
    /// - Throws: `invalid_field`, `rate_limited`, `unavailable`, or `conflict` with Apple's reason.
    func create(_ policy: ChannelStoragePolicy, _ access: ChannelAccess) async throws(PealError) -> String

    /// The ids of the app's channels.
    func list(_ access: ChannelAccess) async throws(PealError) -> [String]

    /// - Throws: `not_found` for a channel that does not exist.
    func read(_ channel: String, _ access: ChannelAccess) async throws(PealError) -> ChannelStoragePolicy

    /// - Throws: `not_found` for a channel that does not exist.
    func delete(_ channel: String, _ access: ChannelAccess) async throws(PealError)
}

/// The channel directory of a server without a network that has channels.
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

/// Whether APNs stores the newest message of a channel for devices that are offline.
package enum ChannelStoragePolicy: Int64, CaseIterable, Sendable, Hashable {
    case none = 0
    case mostRecent = 1
}

/// The credential and environment that a request about channels uses.
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
