internal import PealCore
internal import PealShapes

/// The body that puts the credential of one push network, derived from the network's `CredentialForm`. It checks only
/// the form; the provider checks whether the credential works.
struct NativeCredentialShape: Sendable {
    private let form: CredentialForm
    let shape: Shape<Credential>

    init(_ network: Network) {
        let form = network.credentials
        let name = "Native\(network.titleInNames)Credential"
        let inner = Self.choice(form, name: form.object == nil ? name : nil, prefix: "Native\(network.titleInNames)")
        self.form = form
        shape = Shape { json, reading throws(PealError) in
            guard let members = json.objectValue else { throw reading.wrongType(json, "an object") }
            let object = form.object.flatMap { members[$0] } ?? .null
            if object.isNull { try Self.refuseRetired(form, members, reading) }
            guard let member = form.object else { return try inner.read(json, &reading) }
            guard !object.isNull else { throw .missing(reading.path(member)) }
            reading.enter(member)
            let credential = try inner.read(object, &reading)
            reading.leave()
            return credential
        } describe: { describing in
            let schema = inner.describe(describing)
            return .component(name, form.object.map { .object([.required($0, schema)]) } ?? schema)
        }
    }

    /// A provider's error with the field's path from the root of the body.
    func prefixed(_ error: PealError) -> PealError {
        guard let object = form.object, error.code == .invalidField, error.field?.hasPrefix(object) == false else {
            return error
        }
        return error.under(object)
    }

    private static func refuseRetired(
        _ form: CredentialForm, _ members: JSON.Members, _ reading: borrowing Reading
    ) throws(PealError) {
        for (name, advice) in form.retired {
            if let value = members[name], !value.isNull { throw .invalid(reading.path(name), advice) }
        }
    }

    /// - Parameters:
    ///   - name: the name of the component; nil to name it after its only kind.
    ///   - prefix: the start of the names of the kinds' components.
    private static func choice(_ form: CredentialForm, name: String?, prefix: String) -> Shape<Credential> {
        let kinds = form.kinds.map { kind in
            let own = prefix + Schema.componentName(kind.name)
            return (kind.name, shape(of: kind, form, name: form.choice == .only ? name ?? own : own))
        }
        return switch form.choice {
        case .only: kinds[0].1
        case .named(let tag): .tagged(name ?? prefix, by: tag, kinds)
        case .byMembers: NativeCredentialAlternatives(form: form, kinds: kinds.map(\.1)).shape
        }
    }

    private static func shape(of kind: CredentialForm.Kind, _ form: CredentialForm, name: String) -> Shape<Credential> {
        // An object of the provider's own, such as Google's key file, may have more members.
        var passing: (@Sendable (inout [String: String], JSON.Members) -> Void)?
        if form.object != nil { passing = { _, _ in } }
        return ObjectShape(name, [String: String](), extra: passing) {
            if case .named(let tag) = form.choice { Entry(tag: tag, kind.name) }
            kind.members.map { $0.entry }
        }.shape.checked { texts, reading in kind.credential(.init(texts: texts, now: reading.now)) }
    }
}

/// A credential whose kind follows from the members that are given. The schema is one object with the members of all
/// kinds, because client generators lose the type in a union.
private struct NativeCredentialAlternatives: Sendable {
    let form: CredentialForm
    /// In the order of the form's kinds.
    let kinds: [Shape<Credential>]

    var shape: Shape<Credential> {
        Shape { json, reading throws(PealError) in
            guard let members = json.objectValue else { throw reading.wrongType(json, "an object") }
            return try kinds[try index(members, reading)].read(json, &reading)
        } describe: { describing in
            schema(describing)
        }
    }

    /// The members that distinguish each kind, without the kind that has no members.
    private var names: [[String]] { form.kinds.map { form.ownMembers(of: $0) }.filter { !$0.isEmpty } }
    private var emptyKind: Int? { form.kinds.firstIndex(where: \.members.isEmpty) }

    private func index(_ members: JSON.Members, _ reading: borrowing Reading) throws(PealError) -> Int {
        let given = form.kinds.indices.filter { index in
            form.ownMembers(of: form.kinds[index]).contains { members[$0].map { !$0.isNull } ?? false }
        }
        let field = reading.path(names.first?.first ?? "")
        if given.count > 1 {
            let all = names.map { $0.joined(separator: " and ") }.joined(separator: " or ")
            throw .invalid(field, "give either \(all), not both")
        }
        if let index = given.first ?? emptyKind { return index }
        let all = names.map { $0.joined(separator: " and ") }.joined(separator: ", or ")
        let shared = form.sharedMembers.isEmpty ? "" : ", with \(form.sharedMembers.joined(separator: " and "))"
        throw PealError(.missingField, "give \(all)\(shared)", field: field)
    }

    private func schema(_ describing: Describing) -> Schema {
        var properties: [Property] = []
        for member in form.kinds.flatMap(\.members) where !properties.contains(where: { $0.name == member.name }) {
            let schema = member.shape.describe(describing)
            let isShared = member.isRequired && form.sharedMembers.contains(member.name)
            properties.append(isShared ? .required(member.name, schema) : .nullable(member.name, schema))
        }
        let alternatives = names.map { $0.map { "`\($0)`" }.joined(separator: " and ") }.joined(separator: ", or ")
        return Schema.object(properties).described("Give \(alternatives)\(emptyKind == nil ? "." : ", or nothing.")")
            .with("not", ["anyOf": .array(violations(describing))])
    }

    /// Schemas of the objects that mix kinds, and of those that contain no kind completely.
    private func violations(_ describing: Describing) -> [JSON] {
        let mixed = names.indices.flatMap { first in
            names.indices.dropFirst(first + 1).flatMap { second in
                names[first].flatMap { name in names[second].map { JSON.present([name, $0], describing) } }
            }
        }
        let complete: JSON = ["not": ["anyOf": .array(names.map { .present($0, describing) })]]
        guard emptyKind != nil else { return mixed + [complete] }
        let some = JSON.somePresent(names.flatMap { $0 }, describing)
        return mixed + [["allOf": [some, complete]]]
    }
}

extension CredentialForm.Member {
    fileprivate var entry: Entry<[String: String]> {
        isRequired ? Entry(required: name, shape) { $0[name] = $1 } : Entry(name, shape) { $0[name] = $1 }
    }

    fileprivate var shape: Shape<String> {
        var shape = value.shape(isRequired: isRequired)
        if let pattern { shape = shape.stating(("pattern", .string("^(?:\(pattern))$"))) }
        return text.map { shape.described($0) } ?? shape
    }
}

extension CredentialForm.Value {
    fileprivate func shape(isRequired: Bool) -> Shape<String> {
        switch self {
        case .text: .text()
        case .word(let extra):
            .text().matching(
                "[A-Za-z0-9._:\(extra)-]+", "may contain only letters, digits and \("._:-\(extra)".spaced)"
            ) {
                $0.utf8.allSatisfy { $0.isASCIIAlphanumeric || "._:-\(extra)".utf8.contains($0) }
            }
        case .secret: isRequired ? Self.secret : Self.emptyOrSecret
        case .lines(let bytesMax): Self.lines(bytesMax)
        case .pem(let bytesMax):
            Self.lines(bytesMax).matching(
                #"[\t\n\r -~]*-----BEGIN [\t\n\r -~]*"#, "must be PEM (RFC 7468): -----BEGIN …"
            ) { $0.contains("-----BEGIN ") }
        case .archive(let charactersMax): Self.archive(charactersMax)
        case .contact: Self.contact
        case .constant(let wanted): .text().matching(wanted, "must be \(wanted)") { $0 == wanted }
        }
    }

    private static let secret = Shape.text(characters: Limits.secretBytesMax)

    private static let emptyOrSecret = Shape<String>(
        read: { json, reading throws(PealError) in json == .string("") ? "" : try secret.read(json, &reading) },
        describe: { _ in .printable(0...Limits.secretBytesMax) })

    private static func lines(_ bytesMax: Int) -> Shape<String> {
        Shape.content.checked { text, reading throws(PealError) in
            guard (1...bytesMax).contains(text.utf8.count) else {
                throw reading.refusal("must be 1 to \(bytesMax) bytes long")
            }
            return text
        }.stating(("minLength", 1), ("maxLength", .integer(bytesMax)))
    }

    /// Base64. Accepts line breaks, which many encoders add.
    private static func archive(_ charactersMax: Int) -> Shape<String> {
        Shape.anyText.checked { text, reading throws(PealError) in
            guard text.utf8.count <= charactersMax else {
                throw reading.refusal("may be at most \(charactersMax) characters of base64")
            }
            let plain = text.filter { !$0.isNewline }
            guard let data = Base64URL.decode(plain), !data.isEmpty else {
                throw reading.refusal("must be a PKCS#12 archive in base64")
            }
            return plain
        }.stating(
            ("minLength", 1), ("maxLength", .integer(charactersMax)), ("pattern", #"^[A-Za-z0-9+/=_\r\n-]+$"#))
    }

    /// `mailto:` or `https:` (RFC 8292 §2.1).
    private static let contact = Shape.text(characters: Limits.vapidSubjectCharactersMax).matching(
        "mailto:[A-Za-z0-9.!#$%&'*+=_~-]+@\(domain)|https://\(domain)([/?][A-Za-z0-9._~:/?@!$&'()*+,;=%-]*)?",
        "must be a mailto: or https: URI"
    ) { text in
        ["mailto:", "https:"].contains { text.hasPrefix($0) && text != $0 } && !text.contains(" ")
    }

    private static let domain = "([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z]{2,63}"
}

extension String {
    /// The characters with a blank between each two.
    fileprivate var spaced: String { map { String($0) }.joined(separator: " ") }
}
