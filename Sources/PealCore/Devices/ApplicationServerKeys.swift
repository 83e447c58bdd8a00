/// The VAPID keys that an app's Web Push subscriptions may have been made with (RFC 8292 §4: a push service takes only
/// requests that are signed with the key of the subscription).
package struct ApplicationServerKeys: Sendable, Hashable {
    /// Public keys in base64url, the newest last.
    package let publicKeys: [String]

    package init(publicKeys: [String]) { self.publicKeys = publicKeys }

    /// Reads what the Web Push credential among `records` tells of its keys.
    package init(_ records: [CredentialRecord]) {
        let facts = records.first { $0.provider == .webpush }?.facts
        publicKeys = facts?["keys"]?.arrayValue?.compactMap { $0["public_key"]?.stringValue } ?? []
    }

    /// The address with its key as it is stored: the one that it names, else `fallback` while the app still has it,
    /// else the newest; an address of another network, and one of an app without a key, stays as it is.
    /// - Throws: `invalid_field` with `address.application_server_key` for a key that the app does not have.
    package func complete(_ address: Address, fallback: String? = nil) throws(PealError) -> Address {
        guard address.route == .webPush, var members = address.json.objectValue else { return address }
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

    /// The key in the app's own spelling: base64url may come padded, or in the other alphabet.
    private func known(_ key: String) -> String? {
        guard let bytes = Base64URL.decode(key) else { return nil }
        return publicKeys.first { Base64URL.decode($0) == bytes }
    }

    private static let member = "application_server_key"
}

extension Address {
    /// The VAPID key that a Web Push subscription names; nil elsewhere.
    package var applicationServerKey: String? {
        route == .webPush ? json["application_server_key"]?.stringValue : nil
    }
}
