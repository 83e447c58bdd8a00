/// What a provider answered to a harmless request under a credential.
package struct CredentialVerification: Sendable, Hashable {
    package enum Result: String, Sendable, Hashable {
        /// The provider let us in.
        case accepted
        /// It refused the credential.
        case refused
        /// It did not answer, or was in trouble of its own.
        case unreachable
        /// The network has nothing that could be asked without a device.
        case unverifiable
    }

    package var result: Result
    /// HTTP status of the answer, 0 without one.
    package var status: Int
    /// The provider's own word, as `BadDeviceToken`; or ours.
    package var reason: String
    /// A sentence for people.
    package var detail: String

    package init(_ result: Result, status: Int = 0, reason: String = "", detail: String) {
        self.result = result
        self.status = status
        self.reason = reason
        self.detail = detail
    }
}
