/// What a client certificate of a developer account is good for.
struct ClientCertificate: Sendable, Equatable {
    /// The topics it may send to, with their suffixes.
    let topics: Set<String>
    let environments: Set<PushEnvironment>
}
