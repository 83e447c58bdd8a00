/// Who asks for a change, when, and under which name of its own, so that the audit and a repetition can be told.
package struct VerbCall: Sendable {
    /// `admin` or a key's id: what the audit shows.
    package let actor: String
    package let now: Timestamp
    /// Set where the request names itself (`Idempotency-Key`).
    package let request: IdempotentRequest?

    package init(actor: String, now: Timestamp, request: IdempotentRequest? = nil) {
        self.actor = actor
        self.now = now
        self.request = request
    }
}
