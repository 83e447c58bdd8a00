internal import PealCore

extension PealError {
    /// When to come again: told wherever coming again can help.
    var retrySeconds: Int? { retryAfterSeconds ?? (code == .rateLimited || code == .unavailable ? 1 : nil) }
}

/// Which vocabulary a path belongs to, and so in whose words a refusal is written. The path alone decides.
enum Envelope: Sendable {
    case native, pivotal

    init(_ path: RequestPath?) {
        let first = path?.segments.first ?? ""
        let isOtherDialect = ["campaigns", "devtodev"].contains(path?.segments.dropFirst().first ?? "")
        self = ["v1", "v2", "healthcheck"].contains(first) && !isOtherDialect ? .pivotal : .native
    }

    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        switch self {
        case .native: NativeEnvelope.answer(error)
        case .pivotal: PivotalEnvelope.answer(error, path: path, now: now)
        }
    }
}
