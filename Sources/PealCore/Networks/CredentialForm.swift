/// How an author gives a network's credential: named texts, checked by their form alone. Dialects read and document
/// credentials by it; whether one is any good, the provider says.
package struct CredentialForm: Sendable {
    /// The member of the body that holds everything; nil = the body itself.
    package let object: String?
    package let choice: Choice
    package let kinds: [Kind]
    /// Members of former interfaces, with what to give in their place: refused where the present ones are absent.
    package let retired: [String: String]
    /// Whether a credential that is put joins the earlier ones, each of which can be deleted by its fingerprint.
    package let keepsEarlierKeys: Bool

    package init(
        object: String? = nil, choice: Choice, kinds: [Kind], retired: [String: String] = [:],
        keepsEarlierKeys: Bool = false
    ) {
        self.object = object
        self.choice = choice
        self.kinds = kinds
        self.retired = retired
        self.keepsEarlierKeys = keepsEarlierKeys
    }

    /// How a body says which kind it is of.
    package enum Choice: Sendable, Hashable {
        /// There is one kind.
        case only
        /// By its name in this member.
        case named(String)
        /// By having members that no other kind has; a body without any is of the kind that has no members.
        case byMembers
    }

    package struct Kind: Sendable {
        package let name: String
        package let members: [Member]
        package let credential: @Sendable (Given) -> Credential

        package init(
            _ name: String, _ members: [Member], credential: @escaping @Sendable (Given) -> Credential
        ) {
            self.name = name
            self.members = members
            self.credential = credential
        }
    }

    package struct Member: Sendable {
        package let name: String
        package let value: Value
        package let isRequired: Bool

        package init(_ name: String, _ value: Value, isRequired: Bool = true) {
            self.name = name
            self.value = value
            self.isRequired = isRequired
        }

        package static func word(_ name: String) -> Member { Member(name, .word(extra: "")) }

        package static func pem(_ name: String, bytesMax: Int = Limits.privateKeyBytesMax) -> Member {
            Member(name, .pem(bytesMax: bytesMax))
        }
    }

    /// What a member's text must look like.
    package enum Value: Sendable, Hashable {
        /// Printable, `Limits.nameCharactersMax` characters at most.
        case text
        /// Letters, digits, `._:-` and `extra`: it goes into headers or paths of requests.
        case word(extra: String)
        /// A password or the like; an optional one may be empty.
        case secret
        /// Text that may have line ends.
        case lines(bytesMax: Int)
        /// PEM (RFC 7468).
        case pem(bytesMax: Int)
        /// Octets in base64, whose lines may be broken.
        case archive(charactersMax: Int)
        /// A `mailto:` or `https:` URI (RFC 8292 §2.1).
        case contact
        /// That text and no other.
        case constant(String)
    }

    /// The checked texts of a body.
    package struct Given: Sendable {
        package let texts: [String: String]
        package let now: Timestamp

        package init(texts: [String: String], now: Timestamp) {
            self.texts = texts
            self.now = now
        }

        /// Empty for an optional member that is absent.
        package subscript(_ name: String) -> String { texts[name] ?? "" }

        /// nil for an optional member that is absent.
        package func text(_ name: String) -> String? { texts[name] }
    }

    /// The members of a kind that tell it from the others.
    package func ownMembers(of kind: Kind) -> [String] {
        let others = kinds.filter { $0.name != kind.name }.flatMap(\.members).map(\.name)
        return kind.members.map(\.name).filter { !others.contains($0) }
    }

    /// The members that every kind with members has.
    package var sharedMembers: [String] {
        guard let first = kinds.first else { return [] }
        return first.members.map(\.name).filter { !ownMembers(of: first).contains($0) }
    }
}
