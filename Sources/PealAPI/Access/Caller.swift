internal import PealCore

/// An authenticated caller.
struct Caller: Sendable {
    enum Identity: Sendable {
        case anonymous
        /// nil for the first admin.
        case admin(Admin?)
        case key(StoredKey)
        case device(DeviceCaller)
    }

    let identity: Identity
    /// The key's app, or the one that the admin named in the path.
    var app: App?
    /// What sending for `app` needs; nil if it was not read.
    var sendingFacts: SendingFacts?

    /// As in the audit log.
    var actor: Actor {
        switch identity {
        case .anonymous: Actor("nobody")
        case .admin(nil): Actor(Admin.first)
        case .admin(let admin?): Actor(admin.id.description, name: admin.name)
        case .key(let stored): Actor(stored.key.id.description, name: stored.key.name)
        case .device(let device): Actor("device \(device.id)")
        }
    }

    /// Distinguishes callers.
    var name: String { actor.id }

    var isAdmin: Bool { if case .admin = identity { true } else { false } }

    var isDevice: Bool { if case .device = identity { true } else { false } }

    var key: APIKey? { if case .key(let stored) = identity { stored.key } else { nil } }

    /// What the caller may do; an admin may do everything.
    var scopes: Set<APIKey.Scope> { isAdmin ? Set(APIKey.Scope.allCases) : key?.scopes ?? [] }
}

/// A device as the caller.
struct DeviceCaller: Sendable {
    let installation: Installation
    let id: DeviceID
    let app: App

    /// Checks that a request is about the caller's own device.
    /// - Throws: `forbidden`.
    func check(_ device: DeviceID) throws(PealError) {
        guard device == id else {
            throw PealError(.forbidden, "device must be the one that the token belongs to", field: "device")
        }
    }
}

extension Call {
    /// The device that the token belongs to.
    /// - Throws: `forbidden`, which cannot happen on a path of devices.
    func device() throws(PealError) -> DeviceCaller {
        guard case .device(let device) = caller.identity else {
            throw PealError(.forbidden, "this endpoint requires a device token")
        }
        return device
    }
}

/// The Authorization header. The scheme may be in any letter case, and any amount of white space may follow it: some
/// clients send two spaces.
enum AuthorizationHeader: Equatable {
    case bearer(String)
    /// `Token …`, which is not a registered scheme.
    case token(String)
    case basic(name: String, secret: String)

    /// nil for another scheme or an invalid value.
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
            // Names and secrets contain no control characters (RFC 7617 §2).
            guard let bytes = Base64URL.decode(value), !bytes.contains(0),
                let text = String(validating: bytes, as: UTF8.self), !CombiningMarks.areTooMany(in: text),
                let colon = text.firstIndex(of: ":")
            else { return nil }
            self = .basic(name: String(text[..<colon]), secret: String(text[text.index(after: colon)...]))
        default: return nil
        }
    }
}

extension AuthorizationHeader {
    func attempt(from address: ClientAddress) -> AuthenticationFailures.Attempt {
        switch self {
        case .bearer(let secret), .token(let secret): .init(address: address, keyName: nil, shown: secret)
        case .basic(let name, let secret): .init(address: address, keyName: name, shown: "\(name):\(secret)")
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
