internal import PealCore

/// What the configuration says to the API.
package struct APIOptions: Sendable {
    /// Lifetime of a message that gives none; no message lives longer.
    package var messageLifeSeconds: Int64
    package var requestBodyBytesMax: Int
    /// Whether `/metrics` is served beside the API; false where it has a port of its own.
    package var servesMetrics: Bool
    /// How long ContextPush's traditional messages can still be cancelled.
    package var contextPushHoldSeconds: Int64
    /// The longest window that ContextPush takes.
    package var contextPushWindowSecondsMax: Int64
    /// What one Richie task may name.
    package var richieTopicsMax: Int
    package var richieUsersMax: Int
    /// Of the server, for the OpenAPI document.
    package var version: String

    package init(
        messageLifeSeconds: Int64 = Limits.messageLifeSecondsDefault,
        requestBodyBytesMax: Int = Limits.requestBodyBytesMax, servesMetrics: Bool = true,
        contextPushHoldSeconds: Int64 = Limits.contextPushHoldSeconds,
        contextPushWindowSecondsMax: Int64 = Limits.windowSecondsMax,
        richieTopicsMax: Int = Limits.richieTopicsMax, richieUsersMax: Int = Limits.richieUsersMax,
        version: String = "0"
    ) {
        self.messageLifeSeconds = messageLifeSeconds
        self.requestBodyBytesMax = requestBodyBytesMax
        self.servesMetrics = servesMetrics
        self.contextPushHoldSeconds = contextPushHoldSeconds
        self.contextPushWindowSecondsMax = contextPushWindowSecondsMax
        self.richieTopicsMax = richieTopicsMax
        self.richieUsersMax = richieUsersMax
        self.version = version
    }
}
