/// Checks addresses when they are registered and when a message names them, so that nothing that could not be sent to,
/// or that would aim the server at a stranger's host, is ever stored.
package struct AddressRules: Sendable {
    /// What a channel URI or a Web Push endpoint may point to: `host`, `host:port` or `.suffix` each.
    package let wnsHosts: [String]
    package let mpnsHosts: [String]
    package let webPushHosts: [String]
    /// Whether Web Push takes any public https host beside those listed.
    package let webPushIsOpen: Bool
    let wns: [AllowedHost]
    let mpns: [AllowedHost]
    let webPush: [AllowedHost]

    package init(
        wnsHosts: [String] = [".notify.windows.com"], mpnsHosts: [String] = [".notify.live.net"],
        webPushHosts: [String] = [
            "fcm.googleapis.com", ".push.services.mozilla.com", ".push.apple.com", ".notify.windows.com",
        ],
        webPushIsOpen: Bool = false
    ) {
        self.wnsHosts = wnsHosts
        self.mpnsHosts = mpnsHosts
        self.webPushHosts = webPushHosts
        self.webPushIsOpen = webPushIsOpen
        wns = wnsHosts.map(AllowedHost.init)
        mpns = mpnsHosts.map(AllowedHost.init)
        webPush = webPushHosts.map(AllowedHost.init)
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
        case .windows, .windowsPhone: return Address(route: route, bytes: try endpoint(text, "address", on: route))
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

    private func endpoint(_ text: String, _ field: String, on route: Route) throws(PealError) -> [UInt8] {
        if let reason = refusal(ofURI: text, on: route) { throw .invalid(field, "\(field) \(reason)") }
        return Array(text.utf8)
    }

    private func subscription(_ value: JSON) throws(PealError) -> [UInt8] {
        guard value.objectValue != nil else {
            throw .invalid("address", "a web address is an object with endpoint and keys, not \(value.typeName)")
        }
        guard let endpoint = value["endpoint"]?.stringValue else { throw .missing("address.endpoint") }
        _ = try self.endpoint(endpoint, "address.endpoint", on: .webPush)
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
}

extension AddressRules {
    /// What checking a device's URI came to.
    package enum EndpointCheck: Sendable, Hashable {
        case allowed(EndpointURI)
        /// Why not: the rest of a sentence that begins with the field's name.
        case refused(String)
    }

    /// Why a URI may not be sent to on a route; nil where it may. Asked when it is registered and again at each send,
    /// because the lists may have changed in between.
    package func refusal(ofURI text: String, on route: Route) -> String? {
        if case .refused(let reason) = check(uri: Array(text.utf8), on: route) { return reason }
        return nil
    }

    /// Checks the URI of a device of WNS, MPNS or Web Push. Microsoft: send to notify.windows.com only, whatever stands
    /// before it, and take the rest for opaque (learn.microsoft.com, WNS overview).
    package func check(uri bytes: some Collection<UInt8>, on route: Route) -> EndpointCheck {
        guard bytes.count <= Limits.endpointURIBytesMax else {
            return .refused("is longer than \(Limits.endpointURIBytesMax) bytes")
        }
        guard let uri = EndpointURI(bytes) else { return .refused("must be an https URI") }
        let hosts = hosts(on: route)
        let isListed = hosts.contains { $0.matches(uri) }
        guard isListed || route == .webPush && webPushIsOpen && isPublic(uri) else {
            return .refused("is on a host that is not allowed")
        }
        // MPNS gave out http URIs too; elsewhere only this machine may be spoken to in the clear.
        let allowsClear = route == .mpns || uri.isLoopback && hosts.contains { $0.names(uri) }
        guard uri.isSecure || allowsClear else { return .refused("must be an https URI") }
        return .allowed(uri)
    }

    private func hosts(on route: Route) -> [AllowedHost] {
        switch route {
        case .wns: wns
        case .mpns: mpns
        case .webPush: webPush
        default: []
        }
    }

    /// Whether the open mode of Web Push takes the host's name. Where the name leads is found out when connecting.
    private func isPublic(_ uri: EndpointURI) -> Bool {
        uri.isSecure && uri.hasDefaultPort && !uri.isIPAddress && !uri.isLoopback && uri.host.contains(".")
    }
}
