/// Error codes of RFC 9113 §7.
enum HTTP2Code: UInt32, Sendable {
    case noError = 0
    case protocolError
    case internalError
    case flowControlError
    case settingsTimeout
    case streamClosed
    case frameSizeError
    case refusedStream
    case cancel
    case compressionError
    case connectError
    case enhanceYourCalm
    case inadequateSecurity
    case http11Required
}
