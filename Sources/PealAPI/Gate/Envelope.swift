internal import PealCore

extension PealError {
    /// When to come again: told wherever coming again can help.
    var retrySeconds: Int? { retryAfterSeconds ?? (code == .rateLimited || code == .unavailable ? 1 : nil) }

    /// The message with the field at fault in it, for envelopes that have no place of its own for that.
    var messageNamingField: String {
        guard let field, !names(field) else { return message }
        return "\(field): \(message)"
    }

    /// Whether the field is a word of the message.
    private func names(_ field: String) -> Bool {
        message.split(whereSeparator: { $0.isWhitespace || ",;:()".contains($0) }).contains { word in
            word == field || (word.last == "." && word.dropLast() == field)
        }
    }
}

/// Which vocabulary a path belongs to, and so in whose words a refusal is written. The path alone decides.
enum Envelope: Sendable {
    case native, contextpush, pivotal, richie, devtodev

    /// - Parameter raw: the path as it came, for one whose escapes are broken.
    init(_ path: RequestPath?, raw: some StringProtocol) {
        let segments = path?.segments ?? raw.split(separator: "/").prefix(2).map { String($0) }
        let first = segments.first ?? ""
        let second = segments.dropFirst().first ?? ""
        switch first {
        case "api": self = .devtodev
        case "v1" where second == "devtodev": self = .devtodev
        case "v1" where second == "campaigns": self = .contextpush
        case "v1", "v2", "healthcheck": self = .pivotal
        case "push": self = .richie
        default: self = .native
        }
    }

    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        switch self {
        case .native: NativeEnvelope.answer(error)
        case .devtodev: DevtodevEnvelope.answer(error)
        case .contextpush: ContextPushEnvelope.answer(error)
        case .pivotal: PivotalEnvelope.answer(error, path: path, now: now)
        case .richie: RichieEnvelope.answer(error)
        }
    }
}
