/// What the verbs tell the engine. None of it carries truth: that is in the store, and an engine that missed a word
/// finds the work a moment later by itself.
package protocol DeliveryEngine: Sendable {
    /// The name under which this process leases slices.
    var owner: String { get }
    /// Takes slices that were leased to `owner` in the transaction that accepted their message.
    func take(_ slices: [Slice])
    /// Work was committed.
    func wake()
    /// The message was paused, cancelled or resumed: begin no further request of it.
    func interrupt(_ message: MessageID)
    /// Forget what is held of an app's credentials: they changed.
    func credentialsChanged(app: AppKey, provider: ProviderName, environment: Environment)
}
