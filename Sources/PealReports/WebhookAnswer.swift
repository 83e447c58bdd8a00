internal import PealCore

/// What came of one attempt at a delivery.
package enum WebhookAnswer: Sendable, Hashable {
    /// - Parameter retryAfter: what the receiver asks for (RFC 9110 §10.2.3), where it asks in seconds.
    case answered(status: Int, retryAfter: Duration?)
    case failed(WebhookFailure)

    /// 410 (RFC 9110 §15.5.11): nobody is there any more, nor will be.
    var isGone: Bool { if case .answered(410, _) = self { true } else { false } }
}

/// Why there was no answer. The raw value is `last_error` in the API.
package enum WebhookFailure: String, Sendable, CaseIterable {
    case unknownHost = "UnknownHost"
    /// The host resolves to an address that may not be reached.
    case privateAddress = "PrivateAddress"
    /// The configuration does not allow the URL any more.
    case urlNotAllowed = "URLNotAllowed"
    case noConnection = "NoConnection"
    case tlsFailed = "TLSFailed"
    case connectionLost = "ConnectionLost"
    case timeout = "Timeout"
}
