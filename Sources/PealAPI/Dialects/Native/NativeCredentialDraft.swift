internal import PealCore

/// Reads the credential of one push network from a body. It checks only the form; the provider checks whether the
/// credential works.
struct CredentialReader {
    let form: CredentialForm

    func credential(_ fields: Fields, now: Timestamp) throws(PealError) -> Credential {
        let object = try self.object(fields)
        let kind = try kind(object)
        var texts: [String: String] = [:]
        for member in kind.members { texts[member.name] = try object.text(of: member) }
        return kind.credential(CredentialForm.Given(texts: texts, now: now))
    }

    /// A provider's error with the field's path from the root of the body.
    func placed(_ error: PealError) -> PealError {
        guard let object = form.object, error.code == .invalidField, error.field?.hasPrefix(object) == false else {
            return error
        }
        return error.under(object)
    }

    private func object(_ fields: Fields) throws(PealError) -> Fields {
        if form.object.map({ fields[$0] == nil }) ?? true {
            for (name, advice) in form.retired where fields[name] != nil { throw .invalid(fields.path(name), advice) }
        }
        guard let object = form.object else { return fields }
        return try fields.requiredObject(object)
    }

    private func kind(_ fields: Fields) throws(PealError) -> CredentialForm.Kind {
        switch form.choice {
        case .only: return form.kinds[0]
        case .named(let member):
            let name = try fields.requiredText(member)
            guard let kind = form.kinds.first(where: { $0.name == name }) else {
                let names = form.kinds.map(\.name)
                throw .invalid(
                    fields.path(member),
                    "\(member) must be \(names.dropLast().joined(separator: ", ")) or \(names.last ?? "")")
            }
            return kind
        case .byMembers: return try kindByMembers(fields)
        }
    }

    private func kindByMembers(_ fields: Fields) throws(PealError) -> CredentialForm.Kind {
        let given = form.kinds.filter { kind in form.ownMembers(of: kind).contains { fields[$0] != nil } }
        let names = form.kinds.map { form.ownMembers(of: $0) }.filter { !$0.isEmpty }
        let field = fields.path(names.first?.first ?? "")
        switch given.count {
        case 1: return given[0]
        case 0:
            if let empty = form.kinds.first(where: \.members.isEmpty) { return empty }
            let all = names.map { $0.joined(separator: " and ") }.joined(separator: ", or ")
            let shared = form.sharedMembers.isEmpty ? "" : ", with \(form.sharedMembers.joined(separator: " and "))"
            throw PealError(.missingField, "give \(all)\(shared)", field: field)
        default:
            let all = names.map { $0.joined(separator: " and ") }.joined(separator: " or ")
            throw .invalid(field, "give either \(all), not both")
        }
    }
}

extension Fields {
    /// The checked text of a credential's member; nil for an optional one that is absent.
    fileprivate func text(of member: CredentialForm.Member) throws(PealError) -> String? {
        guard self[member.name] != nil else {
            if member.isRequired { throw .missing(path(member.name)) }
            return nil
        }
        let name = member.name
        switch member.value {
        case .text: return try text(name)
        case .word(let extra): return try word(name, or: extra)
        case .secret:
            if !member.isRequired, try freeText(name)?.isEmpty ?? true { return nil }
            return try secret(name)
        case .lines(let bytesMax): return try lines(name, bytesMax: bytesMax)
        case .pem(let bytesMax): return try pem(name, bytesMax: bytesMax)
        case .archive(let charactersMax): return try archive(name, charactersMax: charactersMax)
        case .contact: return try contact(name)
        case .constant(let wanted):
            guard try text(name) == wanted else { throw .invalid(path(name), "\(path(name)) must be \(wanted)") }
            return wanted
        }
    }

    /// `mailto:` or `https:` (RFC 8292 §2.1).
    private func contact(_ name: String) throws(PealError) -> String {
        let text = try requiredText(name)
        guard ["mailto:", "https:"].contains(where: { text.hasPrefix($0) && text != $0 }), !text.contains(" ") else {
            throw .invalid(path(name), "\(name) must be a mailto: or https: URI")
        }
        return text
    }

    /// Base64. Accepts line breaks, which many encoders add.
    private func archive(_ name: String, charactersMax: Int) throws(PealError) -> String {
        guard let text = try freeText(name) else { throw .missing(path(name)) }
        guard text.utf8.count <= charactersMax else {
            throw .invalid(path(name), "\(name) may be \(charactersMax) characters of base64 at most")
        }
        let plain = text.filter { !$0.isNewline }
        guard let data = Base64URL.decode(plain), !data.isEmpty else {
            throw .invalid(path(name), "\(name) must be a PKCS#12 archive in base64")
        }
        return plain
    }
}

extension Fields {
    /// Matches `[A-Za-z0-9._:-]{1,255}`, with the characters of `more` allowed too: the word becomes part of provider
    /// requests.
    func word(_ name: String, or more: String = "") throws(PealError) -> String {
        let text = try requiredText(name)
        guard text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "._:-\(more)".utf8.contains($0) }) else {
            let marks = "._:-\(more)".map { String($0) }.joined(separator: " ")
            throw .invalid(path(name), "\(path(name)) may hold letters, digits and \(marks) only")
        }
        return text
    }

    /// A password or similar secret.
    func secret(_ name: String) throws(PealError) -> String {
        try requiredText(name, charactersMax: Limits.secretBytesMax)
    }

    /// A text that may have line ends; nil when absent.
    func lines(_ name: String, bytesMax: Int) throws(PealError) -> String? {
        guard let text = try freeText(name) else { return nil }
        guard (1...bytesMax).contains(text.utf8.count) else {
            throw .invalid(path(name), "\(path(name)) must be 1 to \(bytesMax) bytes long")
        }
        try ControlCharacters.refuse(in: text, path(name), except: ControlCharacters.inContent)
        return text
    }

    /// PEM (RFC 7468): lines of text; nil when absent.
    func pem(_ name: String, bytesMax: Int = Limits.privateKeyBytesMax) throws(PealError) -> String? {
        guard let text = try lines(name, bytesMax: bytesMax) else { return nil }
        guard text.contains("-----BEGIN ") else {
            throw .invalid(path(name), "\(path(name)) must be PEM: -----BEGIN …")
        }
        return text
    }
}
