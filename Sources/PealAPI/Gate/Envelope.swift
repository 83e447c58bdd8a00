internal import PealCore

extension PealError {
    /// When to come again: told wherever coming again can help.
    var retrySeconds: Int? { retryAfterSeconds ?? (code == .rateLimited || code == .unavailable ? 1 : nil) }
}

/// Which vocabulary a path belongs to, and so in whose words a refusal is written. The path alone decides.
enum Envelope: Sendable {
    case native, contextpush, pivotal

    init(_ path: RequestPath?) {
        let first = path?.segments.first ?? ""
        let second = path?.segments.dropFirst().first ?? ""
        guard first != "v1" || second != "campaigns" else {
            self = .contextpush
            return
        }
        let isOtherDialect = ["campaigns", "devtodev"].contains(second)
        self = ["v1", "v2", "healthcheck"].contains(first) && !isOtherDialect ? .pivotal : .native
    }

    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        switch self {
        case .native: NativeEnvelope.answer(error)
        case .contextpush: ContextPushEnvelope.answer(error)
        case .pivotal: PivotalEnvelope.answer(error, path: path, now: now)
        }
    }
}
