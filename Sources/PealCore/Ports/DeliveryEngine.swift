/// Receives the verbs' announcements of committed work. The store remains authoritative: an engine that misses a call
/// finds the work in the store a moment later.
package protocol DeliveryEngine: Sendable {
    /// The name under which this process leases slices.
    var owner: String { get }
    /// Takes slices that were leased to `owner` in the transaction that accepted their message.
    func take(_ slices: [Slice])
    /// Announces committed work.
    func wake()
    /// The message was paused, cancelled or resumed: start no further request for it.
    func interrupt(_ message: MessageID)
    /// The app's credentials changed: discard what the engine has cached of them.
    func credentialsChanged(app: AppKey, provider: ProviderName, environment: Environment)
}
