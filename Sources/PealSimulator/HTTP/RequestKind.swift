/// What a client wants of a network; rules of a fault script name it as `request`.
enum RequestKind: String, Sendable, CaseIterable {
    /// A notification for a device, a topic or a channel.
    case send
    /// An access token.
    case authorization = "token"
    /// A change to the channels of an app.
    case management
}
