/// An error that a caller can act on. Dialects write it in their own envelope and add no codes.
package struct PealError: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: Code
    /// One sentence for the person who reads the answer.
    package let message: String
    /// The path of the invalid field in the request body, such as `content.title` or `devices[3].address`.
    package let field: String?
    package let retryAfterSeconds: Int?
    /// For `unauthorized`: the realm whose credentials are required, if the dialect has several.
    package var realm: String?

    package init(_ code: Code, _ message: String, field: String? = nil, retryAfterSeconds: Int? = nil) {
        self.code = code
        self.message = message
        self.field = field
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// For the log and for commands.
    package var description: String { "\(message) (\(code.rawValue))" }

    /// The same error seen from an enclosing object: `address` under `devices[3]` is `devices[3].address`.
    package func under(_ path: String) -> PealError {
        let nested = field.map { $0.hasPrefix("[") ? path + $0 : "\(path).\($0)" } ?? path
        return PealError(code, message, field: nested, retryAfterSeconds: retryAfterSeconds)
    }
}

extension PealError {
    /// All error codes; each has one row in `docs/errors.md`.
    package enum Code: String, CaseIterable, Sendable {
        case invalidJSON = "invalid_json"
        case invalidField = "invalid_field"
        case missingField = "missing_field"
        case unknownField = "unknown_field"
        case notSupported = "not_supported"
        case unauthorized
        case forbidden
        case notFound = "not_found"
        case methodNotAllowed = "method_not_allowed"
        case conflict
        case idempotencyMismatch = "idempotency_mismatch"
        case bodyTooLarge = "body_too_large"
        case payloadTooLarge = "payload_too_large"
        case unsupportedMediaType = "unsupported_media_type"
        case rateLimited = "rate_limited"
        case unavailable
        case `internal`

        /// The HTTP status of an error with this code.
        package var httpStatus: Int {
            switch self {
            case .invalidJSON, .invalidField, .missingField, .unknownField, .notSupported: 400
            case .unauthorized: 401
            case .forbidden: 403
            case .notFound: 404
            case .methodNotAllowed: 405
            case .conflict, .idempotencyMismatch: 409
            case .bodyTooLarge, .payloadTooLarge: 413
            case .unsupportedMediaType: 415
            case .rateLimited: 429
            case .unavailable: 503
            case .internal: 500
            }
        }
    }
}

extension PealError {
    package static func invalid(_ field: String, _ message: String) -> PealError {
        PealError(.invalidField, message, field: field)
    }
    package static func missing(_ field: String) -> PealError {
        PealError(.missingField, "\(field) is required", field: field)
    }
    /// - Parameters:
    ///   - near: the name that the caller probably meant.
    ///   - others: further unknown fields; the message names the first ones.
    package static func unknown(_ field: String, near: String? = nil, others: [String] = []) -> PealError {
        let named = others.prefix(Limits.errorNamesMax).joined(separator: ", ")
        let meant = near.map { "; did you mean \($0)?" } ?? ""
        let rest = others.isEmpty ? "" : "\(near == nil ? ";" : "") also unknown: \(named)"
        return PealError(.unknownField, "\(field) is unknown\(meant)\(rest)", field: field)
    }
    /// A caller's name for a member as errors repeat it: an answer must not grow with it.
    package static func shown(_ name: String) -> String {
        name.utf8.count > Limits.errorNameBytesMax ? name.prefix(Limits.errorNameBytesMax / 4) + "…" : name
    }
    package static func unsupported(_ field: String, _ message: String? = nil) -> PealError {
        PealError(.notSupported, message ?? "\(field) is not supported yet", field: field)
    }
    package static func notFound(_ what: String) -> PealError { PealError(.notFound, "\(what) not found") }
    /// What an error says, without a code.
    package static func message(of error: any Error) -> String { (error as? PealError)?.message ?? "\(error)" }
    /// Whether the store as a whole failed, and not only this transaction.
    package static func isOutage(_ error: any Error) -> Bool {
        guard let error = error as? PealError else { return false }
        return error.code == .unavailable || error.code == .rateLimited
    }
}
