/// What a provider needs to render one variant of a message.
package struct RenderOrder: Sendable {
    package let message: MessageID
    package let content: Content
    /// In force on this platform.
    package let options: MessageOptions
    /// The content's locale; nil when nothing is localized.
    package let locale: String?
    package let route: Route
    /// From the credential: `Credential.providerAppID`.
    package let providerAppID: String
    /// What the provider is told about the end of the message's worth.
    package let expiresAt: Timestamp
    package let now: Timestamp

    package init(
        message: MessageID, content: Content, options: MessageOptions, locale: String?, route: Route,
        providerAppID: String, expiresAt: Timestamp, now: Timestamp
    ) {
        self.message = message
        self.content = content
        self.options = options
        self.locale = locale
        self.route = route
        self.providerAppID = providerAppID
        self.expiresAt = expiresAt
        self.now = now
    }
}
