/// Stands where no push network of this server keeps channels: it refuses everything.
package struct NoChannelDirectory: ChannelDirectory {
    package init() {}

    private static let refusal = PealError.unsupported("path", "broadcast channels are not supported by this server")

    package func create(_ policy: ChannelStoragePolicy, _ access: ChannelAccess) async throws(PealError) -> String {
        throw Self.refusal
    }

    package func list(_ access: ChannelAccess) async throws(PealError) -> [String] { throw Self.refusal }

    package func read(_ channel: String, _ access: ChannelAccess) async throws(PealError) -> ChannelStoragePolicy {
        throw Self.refusal
    }

    package func delete(_ channel: String, _ access: ChannelAccess) async throws(PealError) { throw Self.refusal }
}
