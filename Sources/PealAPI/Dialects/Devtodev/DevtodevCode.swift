internal import PealCore

/// The numbers of refusals. The vendor's documents name none: these are Peal's own, and stay.
enum DevtodevCode: Int {
    case malformedJSON = 1000
    case unknownUserToken = 1001
    case forbidden = 1002
    case unknownApp = 1003
    case noAudience = 1004
    case audienceTooLarge = 1005
    case noPlatform = 1006
    case invalidField = 1007
    case visibleHidden = 1008
    case packRepeated = 1009
    case notConfigured = 1010
    case payloadTooLarge = 1011
    case tooManyRequests = 1012
    case nothingHere = 1013
    case serverFailure = 1014

    init(_ error: PealError) {
        self =
            switch error.code {
            case .invalidJSON, .unsupportedMediaType: .malformedJSON
            case .unauthorized: .unknownUserToken
            case .forbidden: .forbidden
            case .notFound: error.field == DevtodevRefusals.app ? .unknownApp : .nothingHere
            case .methodNotAllowed: .nothingHere
            case .missingField, .invalidField, .notSupported: .init(ofField: error)
            case .idempotencyMismatch: .packRepeated
            case .conflict: error.field == DevtodevRefusals.credentials ? .notConfigured : .packRepeated
            case .payloadTooLarge, .bodyTooLarge: .payloadTooLarge
            case .rateLimited: .tooManyRequests
            case .unavailable, .internal: .serverFailure
            }
    }

    private init(ofField error: PealError) {
        switch error.field {
        case DevtodevRefusals.audience: self = error.code == .missingField ? .noAudience : .audienceTooLarge
        case DevtodevRefusals.platforms: self = .noPlatform
        case let field? where field.hasSuffix(DevtodevRefusals.hiddenSuffix): self = .visibleHidden
        default: self = .invalidField
        }
    }

    /// The HTTP status; what a number does not decide follows from the error.
    func status(of error: PealError) -> Int {
        switch self {
        case .notConfigured: 422
        case .payloadTooLarge: 413
        default: error.code.httpStatus
        }
    }
}
