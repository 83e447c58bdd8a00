/// What a network makes of a request.
enum Judgement: Sendable {
    /// Every check passed: so it goes on, unless a fault meets it.
    case accepted(Acceptance)
    /// The first check that failed, and what is answered.
    case refused(reason: String, Answer)
    /// The same of a request that was to bring no notification: the inbox does not count it.
    case declined(Answer)
}
