/// What came back for one notification.
package struct Answer: Sendable, Hashable {
    package let result: Result
    /// The provider's own word, as `BadDeviceToken`; or ours, as `ConnectionLost`. Of an acceptance it is a remark that
    /// the trail keeps, as WNS's `dropped`; mostly empty.
    package let reason: String
    /// HTTP status, 0 without one.
    package let status: Int

    package enum Result: Sendable, Hashable {
        case verdict(Verdict)
        /// The request was written and nothing came back: it may have been delivered.
        case lost
        /// It provably never reached the provider, and the attempt is over (deadline, stop, no connection).
        case unsent
        /// It was not sent, because the peer behind this very address asked to be left alone for so long. That says
        /// nothing of the others on the route.
        case held(after: Duration)
    }

    package init(_ result: Result, reason: String, status: Int = 0) {
        self.result = result
        self.reason = reason
        self.status = status
    }

    package static let accepted = Answer(.verdict(.accepted), reason: "", status: 200)
}
