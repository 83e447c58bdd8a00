internal import PealCore

extension PealError {
    /// When to come again: told wherever coming again can help.
    var retrySeconds: Int? { retryAfterSeconds ?? (code == .rateLimited || code == .unavailable ? 1 : nil) }
}

/// Which vocabulary a path belongs to, and so in whose words a refusal is written. The path alone decides.
enum Envelope: Sendable {
    case native, pivotal, devtodev

    init(_ path: RequestPath?) {
        let first = path?.segments.first ?? ""
        let second = path?.segments.dropFirst().first ?? ""
        if first == "api" || first == "v1" && second == "devtodev" {
            self = .devtodev
        } else {
            let isPivotal = ["v1", "v2", "healthcheck"].contains(first) && second != "campaigns"
            self = isPivotal ? .pivotal : .native
        }
    }

    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        switch self {
        case .native: NativeEnvelope.answer(error)
        case .devtodev: DevtodevEnvelope.answer(error)
        case .pivotal: PivotalEnvelope.answer(error, path: path, now: now)
        }
    }
}
