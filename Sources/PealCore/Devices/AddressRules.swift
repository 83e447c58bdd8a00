/// Checks addresses when they are registered and when a message names them, so that nothing that could not be sent to,
/// or that would aim the server at a stranger's host, is ever stored.
package struct AddressRules: Sendable {
    /// `host`, `host:port` or `.suffix`; what a channel URI of that network may point to.
    package let wnsHosts: [String]
    package let mpnsHosts: [String]
    package let webPushHosts: [String]

    package init(
        wnsHosts: [String] = [".notify.windows.com"], mpnsHosts: [String] = [".notify.live.net"],
        webPushHosts: [String] = [
            "fcm.googleapis.com", ".push.services.mozilla.com", ".push.apple.com", ".notify.windows.com",
        ]
    ) {
        self.wnsHosts = wnsHosts
        self.mpnsHosts = mpnsHosts
        self.webPushHosts = webPushHosts
    }

    /// Checks what came under the field `address`.
    /// - Throws: `invalid_field` with a field path beginning with `address`.
    package func address(_ value: JSON, platform: Platform, environment: Environment) throws(PealError) -> Address {
        let route = Route(platform, environment)
        if platform == .web { return Address(route: route, bytes: try subscription(value)) }
        guard let text = value.stringValue else {
            throw .invalid("address", "address must be a string, not \(value.typeName)")
        }
        switch platform {
        case .ios: return Address(route: route, bytes: try deviceToken(text))
        case .windows: return Address(route: route, bytes: try channel(text, field: "address", hosts: wnsHosts))
        case .windowsPhone: return Address(route: route, bytes: try channel(text, field: "address", hosts: mpnsHosts))
        default: return Address(route: route, bytes: try opaqueToken(text))
        }
    }

    /// Checks a broadcast channel's id under the field `id`: what APNs gave, base64 (RFC 4648 §4). The URL's alphabet
    /// without padding (§5), in which the id can stand in a path, is brought to that form.
    /// - Throws: `invalid_field`.
    package func channel(_ value: JSON, environment: Environment) throws(PealError) -> Address {
        let isBase64 = { (byte: UInt8) in
            byte.isASCIIAlphanumeric || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
                || byte == UInt8(ascii: "=") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
        guard let text = value.stringValue, (1...Limits.channelIDBytesMax).contains(text.utf8.count),
            text.utf8.allSatisfy(isBase64)
        else {
            throw .invalid("id", "a channel's id is 1 to \(Limits.channelIDBytesMax) characters of base64")
        }
        return Address(route: .broadcast(environment), bytes: Self.plainBase64(text))
    }

    private static func plainBase64(_ text: String) -> [UInt8] {
        guard Base64URL.decode(text) != nil else { return Array(text.utf8) }
        let bytes = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        return bytes + Array(repeating: UInt8(ascii: "="), count: (4 - bytes.count % 4) % 4)
    }

    private func deviceToken(_ text: String) throws(PealError) -> [UInt8] {
        let range = Limits.apnsTokenCharactersMin...Limits.apnsTokenCharactersMax
        guard range.contains(text.utf8.count), let bytes = Hex.decode(text) else {
            throw .invalid(
                "address",
                "an APNs device token is an even number of hexadecimal digits, "
                    + "\(range.lowerBound) to \(range.upperBound)"
            )
        }
        return bytes
    }

    /// FCM writes no grammar for its tokens; these are the characters that stand unescaped in JSON and in a header.
    private func opaqueToken(_ text: String) throws(PealError) -> [UInt8] {
        let bytes = Array(text.utf8)
        let isSafe = bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        guard !bytes.isEmpty, bytes.count <= Limits.addressBytesMax, isSafe else {
            throw .invalid(
                "address", "a registration token is 1 to \(Limits.addressBytesMax) printable characters without quotes")
        }
        return bytes
    }

    private func channel(_ text: String, field: String, hosts: [String]) throws(PealError) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count <= Limits.addressBytesMax, bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            let authority = Self.authority(of: text)
        else { throw .invalid(field, "\(field) must be an http or https URI") }
        guard hosts.contains(where: { Self.matches(authority, $0) }) else {
            throw .invalid(field, "\(field) is on a host that is not allowed")
        }
        return bytes
    }

    private func subscription(_ value: JSON) throws(PealError) -> [UInt8] {
        guard value.objectValue != nil else {
            throw .invalid("address", "a web address is an object with endpoint and keys, not \(value.typeName)")
        }
        guard let endpoint = value["endpoint"]?.stringValue else { throw .missing("address.endpoint") }
        _ = try channel(endpoint, field: "address.endpoint", hosts: webPushHosts)
        let publicKey = try key("p256dh", of: value, byteCount: 65)
        let secret = try key("auth", of: value, byteCount: 16)
        var members: [(String, JSON?)] = [
            ("endpoint", .string(endpoint)), ("keys", ["p256dh": .string(publicKey), "auth": .string(secret)]),
        ]
        if let serverKey = value["application_server_key"], !serverKey.isNull {
            guard let text = serverKey.stringValue, Base64URL.decode(text)?.count == 65 else {
                throw .invalid("address.application_server_key", "must be 65 bytes in base64url")
            }
            members.append(("application_server_key", .string(text)))
        }
        return JSON.compact(members).bytes
    }

    private func key(_ name: String, of value: JSON, byteCount: Int) throws(PealError) -> String {
        let field = "address.keys.\(name)"
        guard let text = value["keys"]?[name]?.stringValue else { throw .missing(field) }
        guard Base64URL.decode(text)?.count == byteCount else {
            throw .invalid(field, "must be \(byteCount) bytes in base64url")
        }
        return text
    }

    /// `host[:port]` in lower case of an http(s) URI; nil for anything else. User information, escapes and bracketed
    /// addresses are refused: no push network uses them, and readers of URIs disagree about them.
    static func authority(of text: String) -> String? {
        let lowered = text.lowercased()
        guard let prefix = ["https://", "http://"].first(where: lowered.hasPrefix) else { return nil }
        let authority = lowered.dropFirst(prefix.count).prefix { !"/?#".contains($0) }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        guard let host = parts.first, !host.isEmpty, !host.hasPrefix("."), host.utf8.allSatisfy(isHostCharacter),
            parts.count == 1 || parts.count == 2 && UInt16(parts[1]) != nil
        else { return nil }
        return String(authority)
    }

    private static func isHostCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Whether `authority` is allowed by one entry of a list: `.suffix` any host below it, else the very host and port.
    static func matches(_ authority: String, _ entry: String) -> Bool {
        let host = authority.split(separator: ":", maxSplits: 1).first.map(String.init) ?? authority
        if entry.hasPrefix(".") { return host.hasSuffix(entry.lowercased()) }
        return authority == entry.lowercased() || (!entry.contains(":") && host == entry.lowercased())
    }
}
