/// What an app uses to authenticate to one push network. Contains secrets: never logged, never returned.
package protocol NetworkCredential: Sendable, Hashable {
    /// The kind's name in listings.
    var kind: String { get }

    /// The network's id of the app; empty if requests do not name the app.
    var providerAppID: String { get }

    /// The members that are sealed besides the kind; the network's `credential` closure reads them.
    var members: [(String, JSON?)] { get }

    /// This credential joined with what the app keeps of its earlier one; nil if it replaces the earlier one.
    func joined(to earlier: Self) -> Self?

    /// - Throws: `conflict` if the credential holds too many keys.
    func checkSize() throws(PealError)

    /// This credential without the key that has the fingerprint.
    func removingKey(_ fingerprint: String) -> KeyRemoval<Self>
}

/// The result of removing one key of a credential.
package enum KeyRemoval<Value> {
    case notFound
    case remaining(Value)
    /// It was the only key.
    case empty
}

extension NetworkCredential {
    package var providerAppID: String { "" }
    package func joined(to earlier: Self) -> Self? { nil }
    package func checkSize() throws(PealError) {}
    package func removingKey(_ fingerprint: String) -> KeyRemoval<Self> { .notFound }
}

/// A credential of any network.
package struct Credential: Sendable, Hashable {
    package let value: any NetworkCredential

    package init(_ value: some NetworkCredential) { self.value = value }

    package var kind: String { value.kind }
    package var providerAppID: String { value.providerAppID }

    package static func == (left: Credential, right: Credential) -> Bool { left.value.isEqual(to: right.value) }

    package func hash(into hasher: inout Hasher) { value.hash(into: &hasher) }

    /// This credential joined with what is kept of the earlier one; nil if it replaces the earlier one.
    func joined(to earlier: Credential?) -> Credential? { earlier.flatMap { value.joined(toAny: $0.value) } }

    func removingKey(_ fingerprint: String) -> KeyRemoval<Credential> { value.anyRemovingKey(fingerprint) }
}

extension NetworkCredential {
    fileprivate func isEqual(to other: any NetworkCredential) -> Bool { other as? Self == self }

    fileprivate func joined(toAny earlier: any NetworkCredential) -> Credential? {
        (earlier as? Self).flatMap(joined).map { Credential($0) }
    }

    fileprivate func anyRemovingKey(_ fingerprint: String) -> KeyRemoval<Credential> {
        switch removingKey(fingerprint) {
        case .notFound: .notFound
        case .remaining(let rest): .remaining(Credential(rest))
        case .empty: .empty
        }
    }
}

extension Credential {
    /// A certificate chain, leaf first, and its private key, both as PEM.
    package struct TLSIdentity: Sendable, Hashable {
        package var certificates: String
        package var privateKey: String

        package init(certificates: String, privateKey: String) {
            self.certificates = certificates
            self.privateKey = privateKey
        }

        /// The form that `StoredCredential.identity` reads.
        var members: [(String, JSON?)] {
            [("certificate", .string(certificates)), ("private_key", .string(privateKey))]
        }
    }
}

extension Credential {
    /// The bytes to seal: JSON, whose `kind` determines the other members.
    package var stored: [UInt8] { JSON.compact([("kind", .string(kind))] + value.members).bytes }

    /// - Throws: if the bytes are not what `stored` wrote for that network.
    package init(stored bytes: [UInt8], of name: ProviderName) throws {
        guard let json = try? JSONParser.parse(bytes, isStored: true) else { throw StoredCredential.damaged }
        self = try name.network.credential(StoredCredential(json: json))
    }
}

/// The members of a sealed credential.
package struct StoredCredential: Sendable {
    package let json: JSON

    package init(json: JSON) { self.json = json }

    static let damaged = PealError(.internal, "the database contains a credential that cannot be read")

    package func kind() throws -> String { try text("kind") }

    package func text(_ name: String) throws -> String {
        guard let text = json[name]?.stringValue else { throw Self.damaged }
        return text
    }

    func identity() throws -> Credential.TLSIdentity {
        .init(certificates: try text("certificate"), privateKey: try text("private_key"))
    }
}
