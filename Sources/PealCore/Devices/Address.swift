/// Where a push network reaches a device. Checked, and in the form that is stored and compared: the raw bytes of a
/// device token, a registration token or URI unchanged, a subscription as compact JSON.
package struct Address: Hashable, Sendable {
    package let route: Route
    package let bytes: [UInt8]

    /// Accepts stored bytes unchanged; untrusted input must pass `AddressRules`.
    package init(route: Route, bytes: [UInt8]) {
        self.route = route
        self.bytes = bytes
    }

    /// The bytes that identify the address. Of a Web Push subscription, only the endpoint counts.
    package var identity: [UInt8] {
        guard route.addressForm == .subscription, let endpoint = json["endpoint"]?.stringValue else { return bytes }
        return Array(endpoint.utf8)
    }

    /// The address in the API: a string, or the subscription object for Web Push.
    package var json: JSON {
        switch route.addressForm {
        case .deviceToken: .string(Hex.encode(bytes))
        case .subscription: (try? JSONParser.parse(bytes, isStored: true)) ?? .null
        case .opaque, .uri, .channel: .string(String(decoding: bytes, as: UTF8.self))
        }
    }
}

/// The form of a network's addresses.
package enum AddressForm: Sendable, Hashable {
    /// Bytes, written as hexadecimal digits.
    case deviceToken
    /// Printable characters that Peal does not interpret.
    case opaque
    /// A URI to which notifications are posted.
    case uri
    /// A Web Push subscription: a URI, and the keys that encrypt messages to it (RFC 8291).
    case subscription
    /// A broadcast channel's id, in base64.
    case channel
}

/// Which of a network's two environments an address belongs to. Networks that have only one call it `production`.
package enum Environment: String, CaseIterable, Hashable, Sendable {
    case production
    case sandbox

    /// Reads the name; `development` is Apple's older name for `sandbox`.
    package init?(alias: String) {
        if alias == "development" { self = .sandbox } else { self.init(rawValue: alias) }
    }
}

/// The checks of an address beyond its form: by its push network's provider, and for Web Push against the app's keys.
package struct AddressCheck: Sendable {
    package let providers: [ProviderName: any Provider]
    package let keys: ApplicationServerKeys

    package init(providers: [ProviderName: any Provider], keys: ApplicationServerKeys) {
        self.providers = providers
        self.keys = keys
    }

    /// - Parameter fallback: the key for a subscription that names none, if a key was known before.
    /// - Returns: the address as it is stored.
    /// - Throws: `invalid_field` with a field path beginning with `address`.
    package func checked(_ address: Address, fallback: String? = nil) throws(PealError) -> Address {
        if let provider = address.route.provider { try providers[provider]?.check(address) }
        return try keys.complete(address, fallback: fallback)
    }
}

/// The VAPID keys that an app's Web Push subscriptions may have been created with. A push service accepts only requests
/// that are signed with the subscription's key (RFC 8292 §4).
package struct ApplicationServerKeys: Sendable, Hashable {
    /// Public keys in base64url, newest last.
    package let publicKeys: [String]

    package init(publicKeys: [String]) { self.publicKeys = publicKeys }

    /// Reads the keys from the facts of the Web Push credential among `records`.
    package init(_ records: [CredentialRecord]) {
        let facts = records.first { $0.provider.network.address == .subscription }?.facts
        publicKeys = facts?["keys"]?.arrayValue?.compactMap { $0["public_key"]?.stringValue } ?? []
    }

    /// The address with its key as it is stored: the key that it names, else `fallback` if the app still has it, else
    /// the newest. Returns an address of another network, and any address of an app without keys, unchanged.
    /// - Throws: `invalid_field` with `address.application_server_key` for a key that the app does not have.
    package func complete(_ address: Address, fallback: String? = nil) throws(PealError) -> Address {
        guard address.route.addressForm == .subscription, var members = address.json.objectValue else { return address }
        let chosen: String?
        if let named = members[Self.member]?.stringValue {
            chosen = known(named)
            guard chosen != nil else {
                throw .invalid("address.\(Self.member)", "the app has no Web Push credential with this key")
            }
        } else {
            chosen = fallback.flatMap(known) ?? publicKeys.last
        }
        guard let chosen else { return address }
        members[Self.member] = .string(chosen)
        return Address(route: address.route, bytes: JSON.object(members).bytes)
    }

    /// The key in the app's own spelling: the request may use padding or the other base64 alphabet.
    private func known(_ key: String) -> String? {
        guard let bytes = Base64URL.decode(key) else { return nil }
        return publicKeys.first { Base64URL.decode($0) == bytes }
    }

    /// The member of an address that names its key.
    static let member = "application_server_key"
}

extension Address {
    /// The VAPID key that a Web Push subscription names; nil for other addresses.
    package var applicationServerKey: String? {
        route.addressForm == .subscription ? json[ApplicationServerKeys.member]?.stringValue : nil
    }
}
