/// Our own reasons in the delivery log, beside the providers'. `docs/states.md` lists them.
enum Reason {
    static let cancelled = "Cancelled"
    /// A remark of an acceptance.
    static let environmentHealed = "EnvironmentHealed"
    static let expired = "Expired"
    static let gaveUp = "GaveUp"
    static let lostAnswer = "LostAnswer"
    /// With what became of the request, where the message is sent again.
    static func lostAnswer(_ cause: String) -> String {
        cause.isEmpty || cause == lostAnswer ? lostAnswer : "\(lostAnswer) \(cause)"
    }
    static let lateAnswer = "LateAnswer"
    static let messageFailed = "MessageFailed"
    static let noCredential = "NoCredential"
    static let noProvider = "NoProvider"
    static let retirementDoubted = "RetirementDoubted"
}
