/// Checks addresses in registrations and messages, so that the store contains no address that cannot be sent to or that
/// would make the server connect to an untrusted host.
package struct AddressRules: Sendable {
    /// The hosts that device URIs may have, by route number; nil for routes whose addresses are not URIs.
    private let rules: [HostRules?]

    private struct HostRules: Sendable {
        let names: [String]
        let hosts: [AllowedHost]
        let allowsClear: Bool
        /// Whether any public https host is allowed besides those listed.
        let isOpen: Bool
    }

    /// - Parameters:
    ///   - hosts: replace the networks' own hosts: `host`, `host:port` or `.suffix`.
    ///   - open: networks whose URIs may have any public https host.
    package init(hosts: [ProviderName: [String]] = [:], open: Set<ProviderName> = []) {
        var rules: [HostRules?] = []
        for route in Route.allCases {
            while rules.count <= Int(route.rawValue) { rules.append(nil) }
            guard let policy = route.hosts, let provider = route.provider else { continue }
            let names = hosts[provider] ?? policy.own
            rules[Int(route.rawValue)] = HostRules(
                names: names, hosts: names.compactMap(AllowedHost.init), allowsClear: policy.allowsClear,
                isOpen: open.contains(provider))
        }
        self.rules = rules
    }

    /// The same rules, limited to the listed hosts.
    package var listedOnly: AddressRules {
        AddressRules(
            hosts: Dictionary(ProviderName.allCases.map { ($0, hosts(of: $0)) }) { first, _ in first })
    }

    /// The hosts that URIs of a network's devices may have.
    package func hosts(of provider: ProviderName) -> [String] {
        Route.allCases.first { $0.provider == provider }.flatMap { rules[Int($0.rawValue)]?.names } ?? []
    }

    /// Checks the field `address` of a request.
    /// - Throws: `invalid_field` with a field path beginning with `address`.
    package func address(_ value: JSON, platform: Platform, environment: Environment) throws(PealError) -> Address {
        let route = Route(platform, environment)
        if route.addressForm == .subscription {
            return Address(route: route, bytes: try subscription(value, on: route))
        }
        guard let text = value.stringValue else {
            throw .invalid("address", "address must be a string, not \(value.typeName)")
        }
        let bytes: [UInt8] =
            switch route.addressForm {
            case .deviceToken: try deviceToken(text)
            case .uri: try endpoint(text, "address", on: route)
            case .opaque, .channel, .subscription: try opaqueToken(text)
            }
        return Address(route: route, bytes: bytes)
    }

    /// The address that a text in a search can be on a route; nil if it cannot be one.
    package func address(_ text: String, on route: Route) -> Address? {
        if route.isBroadcast { return try? channel(.string(text), environment: route.environment) }
        if route.addressForm == .subscription {
            // The endpoint alone identifies a subscription.
            guard text.hasPrefix("https://") || text.hasPrefix("http://") else { return nil }
            return Address(route: route, bytes: (["endpoint": .string(text)] as JSON).bytes)
        }
        return try? address(.string(text), platform: route.platform, environment: route.environment)
    }

    /// Checks a broadcast channel's id in the field `id`: APNs issues ids in base64 (RFC 4648 §4). An id in base64url
    /// without padding (§5), which can be part of a path, is converted.
    /// - Throws: `invalid_field`.
    package func channel(_ value: JSON, environment: Environment) throws(PealError) -> Address {
        let isBase64 = { (byte: UInt8) in
            byte.isASCIIAlphanumeric || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
                || byte == UInt8(ascii: "=") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
        guard let text = value.stringValue, (1...Limits.channelIDBytesMax).contains(text.utf8.count),
            text.utf8.allSatisfy(isBase64)
        else {
            throw .invalid("id", "a channel id must be 1 to \(Limits.channelIDBytesMax) characters of base64")
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
                "an APNs device token must be an even number of hexadecimal digits, "
                    + "\(range.lowerBound) to \(range.upperBound)"
            )
        }
        return bytes
    }

    /// Whether the text has the loosest form of an address: FCM documents no grammar for its tokens, so these are all
    /// characters that JSON and headers contain unescaped.
    package static func isOpaqueToken(_ text: String) -> Bool {
        (1...Limits.addressBytesMax).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
            }
    }

    private func opaqueToken(_ text: String) throws(PealError) -> [UInt8] {
        guard Self.isOpaqueToken(text) else {
            throw .invalid(
                "address",
                "a registration token must be 1 to \(Limits.addressBytesMax) printable characters without quotes")
        }
        return Array(text.utf8)
    }

    private func endpoint(_ text: String, _ field: String, on route: Route) throws(PealError) -> [UInt8] {
        if let reason = refusal(ofURI: text, on: route) { throw .invalid(field, "\(field) \(reason)") }
        return Array(text.utf8)
    }

    private func subscription(_ value: JSON, on route: Route) throws(PealError) -> [UInt8] {
        guard value.objectValue != nil else {
            throw .invalid("address", "a web address must be an object with endpoint and keys, not \(value.typeName)")
        }
        let endpoint = try Self.text("endpoint", of: value, "address.endpoint")
        _ = try self.endpoint(endpoint, "address.endpoint", on: route)
        if let keys = value["keys"], !keys.isNull, keys.objectValue == nil {
            throw .invalid("address.keys", "address.keys must be an object, not \(keys.typeName)")
        }
        let publicKey = try key("p256dh", of: value, byteCount: 65)
        let secret = try key("auth", of: value, byteCount: 16)
        var members: [(String, JSON?)] = [
            ("endpoint", .string(endpoint)), ("keys", ["p256dh": .string(publicKey), "auth": .string(secret)]),
        ]
        if let serverKey = value[ApplicationServerKeys.member], !serverKey.isNull {
            guard let text = serverKey.stringValue, Base64URL.decode(text)?.count == 65 else {
                let field = "address.\(ApplicationServerKeys.member)"
                throw .invalid(field, "\(field) must be 65 bytes in base64url")
            }
            members.append((ApplicationServerKeys.member, .string(text)))
        }
        return JSON.compact(members).bytes
    }

    private func key(_ name: String, of value: JSON, byteCount: Int) throws(PealError) -> String {
        let field = "address.keys.\(name)"
        let text = try Self.text(name, of: value["keys"], field)
        guard Base64URL.decode(text)?.count == byteCount else {
            throw .invalid(field, "\(field) must be \(byteCount) bytes in base64url")
        }
        return text
    }

    private static func text(_ name: String, of object: JSON?, _ field: String) throws(PealError) -> String {
        guard let value = object?[name], !value.isNull else { throw .missing(field) }
        guard let text = value.stringValue else {
            throw .invalid(field, "\(field) must be a string, not \(value.typeName)")
        }
        return text
    }
}

extension AddressRules {
    /// The result of checking a device's URI.
    package enum EndpointCheck: Sendable, Hashable {
        case allowed(EndpointURI)
        /// The reason, which completes a sentence that begins with the field's name.
        case refused(String)
    }

    /// Why Peal must not send to a URI on a route; nil if it may. Checked at registration and again at each send,
    /// because the lists may have changed.
    package func refusal(ofURI text: String, on route: Route) -> String? {
        if case .refused(let reason) = check(uri: Array(text.utf8), on: route) { return reason }
        return nil
    }

    /// - Throws: `invalid_field` for an address whose URI Peal must not send to.
    package func check(_ address: Address) throws(PealError) {
        if let reason = refusal(ofURI: String(decoding: address.bytes, as: UTF8.self), on: address.route) {
            throw .invalid("address", "address \(reason)")
        }
    }

    /// Checks a device's URI. Does not interpret what precedes an allowed host suffix or follows the host, as Microsoft
    /// requires for channel URIs (learn.microsoft.com, WNS overview).
    package func check(uri bytes: some Collection<UInt8>, on route: Route) -> EndpointCheck {
        guard bytes.count <= Limits.endpointURIBytesMax else {
            return .refused("is longer than \(Limits.endpointURIBytesMax) bytes")
        }
        guard let uri = EndpointURI(bytes) else { return .refused("must be an https URI") }
        let number = Int(route.rawValue)
        guard number < rules.count, let rules = rules[number],
            rules.hosts.contains(where: { $0.matches(uri) }) || rules.isOpen && isPublic(uri)
        else { return .refused("is on a host that is not allowed") }
        // http is only for networks that issued http URIs, and for hosts on this machine.
        let allowsClear = rules.allowsClear || uri.isLoopback && rules.hosts.contains { $0.names(uri) }
        guard uri.isSecure || allowsClear else { return .refused("must be an https URI") }
        return .allowed(uri)
    }

    /// Whether an open network may send to the host. The address it resolves to is checked when connecting.
    private func isPublic(_ uri: EndpointURI) -> Bool {
        uri.isSecure && uri.hasDefaultPort && !uri.isIPAddress && !uri.isLoopback && uri.host.contains(".")
    }
}
