internal import PealCore

/// The Authorization header. The scheme's letter case does not matter, nor how much white space follows it: real
/// clients send two spaces.
enum Authorization: Equatable {
    case bearer(String)
    /// ContextPush's own scheme: `Token CTX-…`.
    case token(String)
    case basic(name: String, secret: String)

    /// nil for another scheme or a value that is none.
    init?(_ header: String?) {
        guard let header else { return nil }
        let parts = header.split(maxSplits: 1, whereSeparator: \.isWhitespace)
        guard parts.count == 2 else { return nil }
        let value = String(parts[1].drop(while: \.isWhitespace)).trimmedEnd
        guard !value.isEmpty else { return nil }
        switch parts[0].lowercased() {
        case "bearer": self = .bearer(value)
        case "token": self = .token(value)
        case "basic":
            guard let bytes = Base64URL.decode(value), let text = String(validating: bytes, as: UTF8.self),
                let colon = text.firstIndex(of: ":")
            else { return nil }
            self = .basic(name: String(text[..<colon]), secret: String(text[text.index(after: colon)...]))
        default: return nil
        }
    }
}

extension String {
    fileprivate var trimmedEnd: String {
        var text = self
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
