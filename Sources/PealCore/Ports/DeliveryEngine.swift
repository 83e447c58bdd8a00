/// What the verbs announce to the engine. The truth is in the store: an engine that missed a call finds the work there
/// a moment later.
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
