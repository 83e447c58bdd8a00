/// A provider's answer, reduced to what the engine must do. That there was no answer is no verdict: see `Answer.lost`.
package enum Verdict: Sendable, Hashable {
    /// The provider took it. That is not yet a delivery.
    case accepted
    /// This notification can never be accepted.
    case rejectMessage
    /// The address is dead since that instant (the provider's clock); nil = as of now. A suspicious reason may really
    /// be our own mistake (wrong environment, wrong topic), so a mass of them stops the app instead.
    case retireAddress(since: Timestamp?, isSuspicious: Bool)
    /// Only this address must wait.
    case holdAddress(after: Duration)
    /// The whole app must wait at this provider.
    case holdApp(after: Duration)
    /// The provider token is too old: once more with a new one.
    case refreshCredential
    /// Nothing of this app can be accepted until somebody mends its configuration.
    case stopApp
    /// Once more on another connection.
    case reconnect
    /// The provider is in trouble: later. nil = the retry policy decides when.
    case retry(after: Duration?)
}
