package import PealCore

/// Carries requests to receivers. The courier's only way out; tests put their own in its place.
package protocol WebhookTransport: Sendable {
    /// Sends once. Ends within `Limits.webhookTimeoutSeconds` and the time to find the host.
    /// - Parameters:
    ///   - target: where the request's URL leads, checked.
    ///   - attempt: counted from 0; the next one may try another address of the host.
    func send(_ request: WebhookRequest, to target: WebhookRules.Target, attempt: Int) async -> WebhookAnswer
    /// Lets go of connections that nobody used for a while.
    func tidy() async
    /// Ends every connection. No request may follow.
    func close() async
}
