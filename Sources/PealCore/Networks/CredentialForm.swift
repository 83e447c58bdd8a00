/// How authors supply a network's credential: named strings, of which only the form is checked. Dialects use it to read
/// and document credentials; the provider checks whether one is valid.
package struct CredentialForm: Sendable {
    /// The member of the body that holds all others; nil if the body itself does.
    package let object: String?
    package let choice: Choice
    package let kinds: [Kind]
    /// Members of earlier interfaces, each with its replacement: refused if the current members are absent.
    package let retired: [String: String]
    /// Whether a new credential joins the earlier ones, each of which can be deleted by its fingerprint.
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

    /// How a body shows its kind.
    package enum Choice: Sendable, Hashable {
        /// There is one kind.
        case only
        /// The body contains the kind's name in this member.
        case named(String)
        /// The body has members that no other kind has. A body without any is of the kind that has no members.
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
        /// What the provider requires beyond the form, as a regular expression (ECMA-262) for the whole string.
        package let pattern: String?
        /// A sentence for documents.
        package let text: String?

        package init(
            _ name: String, _ value: Value, isRequired: Bool = true, pattern: String? = nil, text: String? = nil
        ) {
            self.name = name
            self.value = value
            self.isRequired = isRequired
            self.pattern = pattern
            self.text = text
        }

        package static func word(_ name: String) -> Member { Member(name, .word(extra: "")) }

        package static func pem(_ name: String, bytesMax: Int = Limits.privateKeyBytesMax) -> Member {
            Member(name, .pem(bytesMax: bytesMax))
        }
    }

    /// The valid form of a member's string.
    package enum Value: Sendable, Hashable {
        /// Printable, at most `Limits.nameCharactersMax` characters.
        case text
        /// Letters, digits, `._:-` and `extra`, because it becomes part of headers or paths of requests.
        case word(extra: String)
        /// A password or similar secret; an optional one may be empty.
        case secret
        /// A string that may contain line ends.
        case lines(bytesMax: Int)
        /// PEM (RFC 7468).
        case pem(bytesMax: Int)
        /// Bytes in base64, which may contain line breaks.
        case archive(charactersMax: Int)
        /// A `mailto:` or `https:` URI (RFC 8292 §2.1).
        case contact
        /// Exactly this string.
        case constant(String)
    }

    /// The checked strings of a body.
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

    /// The members that distinguish a kind from the others.
    package func ownMembers(of kind: Kind) -> [String] {
        let others = kinds.filter { $0.name != kind.name }.flatMap(\.members).map(\.name)
        return kind.members.map(\.name).filter { !others.contains($0) }
    }

    /// The members that all kinds with members share.
    package var sharedMembers: [String] {
        guard let first = kinds.first else { return [] }
        return first.members.map(\.name).filter { !ownMembers(of: first).contains($0) }
    }
}
