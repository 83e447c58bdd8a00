internal import PealCore

/// Credentials for the push networks: put, verify, delete. Secrets are never shown.
enum CredentialPages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "credentials", .manage) { call in try await page(call).answer() },
        .app(.post, "credentials/:provider/:environment", .manage, put).redrawing { call, refusal in
            let slot = try target(call)
            let outcome = Outcome(provider: slot.provider, environment: slot.environment, error: refusal)
            return try await page(call, outcome).answer()
        },
        .app(.post, "credentials/:provider/:environment/verify", .manage, verify),
        .app(.post, "credentials/:provider/:environment/delete", .manage, delete).confirming(.deleteCredentialConfirm),
    ]

    /// The result of a form on this page.
    private struct Outcome {
        let provider: ProviderName
        let environment: Environment
        var error: PealError?
        var verification: CredentialVerification?
    }

    private static func page(_ call: PageCall, _ outcome: Outcome? = nil) async throws -> Page {
        let texts = call.texts
        let app = try call.app.key
        let records = try await call.list { store, _ in try store.credentialRecords(app: app) }
        var page = Page(call, texts[.credentials], .credentials)
        page.lead = "\(texts[.credentialsLead])"
        page.body = "\(Networks.all.map { section(call, $0, records, outcome) })"
        return page
    }

    private static func section(
        _ call: PageCall, _ network: Network, _ records: [CredentialRecord], _ outcome: Outcome?
    ) -> HTML {
        let own = records.filter { $0.provider == network.name }
        let outcome = outcome?.provider == network.name ? outcome : nil
        return """
            <section class="card" id="\(network.name.rawValue)"><h2>\(network.title)</h2>
            \(HTML.each(own) { record in credential(call, record, outcome) })
            \(call.problem(outcome?.error))
            <details\(if: outcome != nil && call.form["kind"] != nil, " open")><summary>\
            \(own.isEmpty ? call.texts[.addCredential] : call.texts[.replaceCredential])</summary>
            \(form(call, network, outcome))</details></section>
            """
    }

    private static func credential(_ call: PageCall, _ record: CredentialRecord, _ outcome: Outcome?) -> HTML {
        let texts = call.texts
        let path = call.link("credentials", record.provider.rawValue, record.environment.rawValue)
        var facts = FactList()
        facts.add(texts[.kind], text: record.kind)
        for (name, value) in record.facts.pairs {
            guard let text = value.stringValue else { continue }
            facts.add(texts.credentialMember(name), "<code class=\"long\">\(text)</code>")
        }
        facts.add(texts[.fingerprint], "<code>\(record.fingerprint.prefix(16).description)…</code>")
        facts.add(texts[.made], call.time(record.createdAt))
        if let expiry = record.expiresAt { facts.add(texts[.expires], call.time(expiry)) }
        var advice: String?
        if case .stopped(_, let reason) = record.health { advice = texts.advice(reason) }
        let result = outcome?.environment == record.environment ? outcome?.verification : nil
        // Without environments, the network's heading says enough.
        let heading = HTML.when(record.provider.hasEnvironments, "<h3>\(record.environment.rawValue)</h3>")
        return """
            <div class="credential"><div class="row">\(heading)\(health(call, record))</div>
            \(facts.html)
            \(HTML.with(texts.warning(record, at: call.now)) { "<p class=\"notice warn\">\($0)</p>" })
            \(HTML.with(result) { verification(call, $0) })\
            \(HTML.when(result == nil, HTML.with(advice) { "<p class=\"notice bad\">\($0)</p>" }))
            <div class="row-actions">\(call.button(texts[.verify], to: "\(path)/verify"))\
            \(call.button(texts[.delete], to: "\(path)/delete", "quiet", confirm: texts[.deleteCredentialConfirm]))</div></div>
            """
    }

    private static func health(_ call: PageCall, _ record: CredentialRecord) -> HTML {
        switch record.health {
        case .unknown: call.badge(call.texts[.unverified], "dim")
        case .ok: call.badge(call.texts[.verified], "good")
        case .stopped(_, let reason):
            "<span>\(call.badge(call.texts[.refused], "bad")) <code>\(reason)</code></span>"
        }
    }

    private static func verification(_ call: PageCall, _ result: CredentialVerification) -> HTML {
        let (word, tone): (Word, String) =
            switch result.result {
            case .accepted: (.verifyAccepted, "good")
            case .refused: (.verifyRefused, "bad")
            case .unreachable: (.verifyUnreachable, "warn")
            case .unverifiable: (.verifyUnverifiable, "warn")
            }
        let texts = call.texts
        let advice = result.result == .accepted ? nil : texts.advice(result.reason)
        let general = result.result == .unreachable ? texts[.adviceConnection] : ""
        // A detail that only repeats the reason is left out.
        let detail = advice != nil && result.detail.contains(result.reason) ? "" : result.detail
        return """
            <p class="notice \(tone)" role="status">\(texts[word]) \(advice ?? general) \(texts.translated(detail))\
            \(HTML.when(!result.reason.isEmpty, " <code>\(result.reason)</code>"))</p>
            """
    }

    /// A form for each kind that the network declares. All are closed except the first, which is the usual one.
    private static func form(_ call: PageCall, _ network: Network, _ outcome: Outcome?) -> HTML {
        HTML.each(network.credentials.kinds.enumerated()) { index, kind in
            let sent = call.form["kind"] == kind.name ? outcome : nil
            let title = kind.isArchive ? call.texts[.archive] : call.texts.credentialMember(kind.name)
            let form = form(call, network, kind, outcome?.environment, sent)
            return index == 0
                ? "<div class=\"kind\"><h3>\(title)</h3>\(form)</div>"
                : "<details class=\"kind\"\(if: sent != nil, " open")><summary>\(title)</summary>\(form)</details>"
        }
    }

    /// - Parameter sent: what became of this form.
    private static func form(
        _ call: PageCall, _ network: Network, _ kind: CredentialForm.Kind, _ chosen: Environment?, _ sent: Outcome?
    ) -> HTML {
        let (texts, error) = (call.texts, sent?.error)
        let environments = network.environments
        let scope = "\(network.name.rawValue)-\(kind.name)-"
        let choice = Field(
            name: "environment", label: texts[.environment],
            kind: .choice(environments.map { ($0.rawValue, $0.rawValue) }),
            value: chosen?.rawValue ?? environments[0].rawValue, scope: scope)
        let fields: HTML =
            network.credentials.object == nil
            ? HTML.each(kind.members) { member in
                field(call, member, scope, value: sent == nil ? "" : call.form.raw(member.name), error)
            } : CredentialFile.field(call, scope, error)
        return """
            <form method="post" action="\(call.link("credentials", network.name.rawValue, environments[0].rawValue))" \
            data-keep\(if: sent != nil, " data-sent")>\
            \(call.formStart)<input type="hidden" name="kind" value="\(kind.name)">
            \(HTML.when(environments.count > 1, choice.html))
            \(fields)
            <button class="primary">\(texts[.save])</button></form>
            """
    }

    private static func field(
        _ call: PageCall, _ member: CredentialForm.Member, _ scope: String, value: String, _ error: PealError?
    ) -> HTML {
        let texts = call.texts
        var field = Field(
            name: member.name, label: member.isArchive ? texts[.archive] : texts.credentialMember(member.name),
            error: error?.field?.hasSuffix(member.name) == true ? error.map(call.texts.message) : nil,
            isRequired: member.isRequired,
            scope: scope, more: " spellcheck=\"false\" autocomplete=\"off\"")
        switch member.value {
        case .text, .word, .contact: field.value = value
        case .constant(let text): field.value = value.isEmpty ? text : value
        case .secret: field.kind = .secret
        case .lines, .pem, .archive:
            field.kind = .area(rows: 3)
            field.hint = texts[member.isArchive ? .dropArchive : .dropFile]
            // Everything else in such a field is a private key.
            let isSecret = member.name != "certificate"
            field.more = """
                 spellcheck="false" autocomplete="off" class="code" data-drop\(if: isSecret, " data-secret")\
                \(if: member.isArchive, " data-accept=\".p12,.pfx\"")
                """
            if !isSecret { field.value = value }
        }
        return field.html
    }

    private static func target(_ call: PageCall) throws(PealError) -> CredentialSlot {
        guard let provider = ProviderName(rawValue: call.parameter("provider")) else { throw .notFound("provider") }
        // The form names the environment in a field, links name it in the path.
        guard let environment = Environment(alias: call.form["environment"] ?? call.parameter("environment")) else {
            throw .notFound("environment")
        }
        return .init(
            app: try call.app.key, provider: provider,
            environment: provider.hasEnvironments ? environment : .production)
    }

    @Sendable private static func put(_ call: PageCall) async throws -> ConsoleAnswer {
        let target = try target(call)
        do {
            let credential = try credential(call, target.provider.network.credentials)
            _ = try await call.services.verbs.credentials.put(credential, at: target, call.verb)
            return ConsoleAnswer(redirect: call.link("credentials") + "?done=saved#\(target.provider.rawValue)")
        } catch let error as PealError where error.code.httpStatus < 500 {
            let outcome = Outcome(provider: target.provider, environment: target.environment, error: error)
            return try await page(call, outcome).answer(400)
        }
    }

    private static func credential(_ call: PageCall, _ form: CredentialForm) throws(PealError) -> Credential {
        guard let kind = form.kinds.first(where: { $0.name == call.form["kind"] }) else { throw .missing("kind") }
        var texts: [String: String] = [:]
        let file = form.object == nil ? nil : try CredentialFile(call.form.raw(CredentialFile.name), call.texts)
        for member in kind.members {
            let text = member.tidied(file.map { $0[member.name] } ?? call.form.raw(member.name))
            if text.isEmpty {
                guard !member.isRequired else { throw .missing(member.name) }
                continue
            }
            try member.check(text)
            texts[member.name] = text
        }
        return kind.credential(.init(texts: texts, now: call.now))
    }

    @Sendable private static func verify(_ call: PageCall) async throws -> ConsoleAnswer {
        let target = try target(call)
        let answer = try await call.services.verbs.credentials.verify(at: target, call.verb) { verification in
            Reply(
                status: verification.status,
                [
                    "result": .string(verification.result.rawValue), "reason": .string(verification.reason),
                    "detail": .string(verification.detail),
                ])
        }
        let json = (try? JSONParser.parse(answer.body)) ?? .null
        let verification = CredentialVerification(
            json["result"]?.stringValue.flatMap { .init(rawValue: $0) } ?? .unreachable,
            reason: json["reason"]?.stringValue ?? "", detail: json["detail"]?.stringValue ?? "")
        let outcome = Outcome(
            provider: target.provider, environment: target.environment, verification: verification)
        return try await page(call, outcome).answer()
    }

    @Sendable private static func delete(_ call: PageCall) async throws -> ConsoleAnswer {
        try await call.services.verbs.credentials.delete(at: try target(call), call.verb)
        return ConsoleAnswer(redirect: call.link("credentials") + "?done=deleted")
    }
}

extension CredentialForm.Kind {
    /// Whether it is a binary file, which is supplied in base64.
    fileprivate var isArchive: Bool { members.contains(where: \.isArchive) }
}

extension CredentialForm.Member {
    fileprivate var isArchive: Bool { if case .archive = value { true } else { false } }

    /// The given text without extra white space, such as line breaks in base64. A passphrase may begin or end with a
    /// space.
    fileprivate func tidied(_ text: String) -> String {
        switch value {
        case .archive: text.filter { !$0.isWhitespace }
        case .secret: text
        default: text.trimmed
        }
    }

    /// - Throws: `invalid_field` for a text that the member's form forbids; the provider checks the rest.
    fileprivate func check(_ text: String) throws(PealError) {
        switch value {
        case .word(let extra):
            guard text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "._:-\(extra)".utf8.contains($0) }) else {
                throw .invalid(name, "\(name) may contain only letters, digits and ._:-\(extra)")
            }
        case .lines(let bytesMax), .pem(let bytesMax), .archive(let bytesMax):
            guard text.utf8.count <= bytesMax else { throw .invalid(name, "\(name) is longer than \(bytesMax) bytes") }
            if case .pem = value, !text.contains("-----BEGIN ") {
                throw .invalid(name, "\(name) must be PEM: -----BEGIN …")
            }
        case .constant(let wanted):
            guard text == wanted else { throw .invalid(name, "\(name) must be \(wanted)") }
        case .contact:
            guard text.hasPrefix("mailto:") || text.hasPrefix("https:") else {
                throw .invalid(name, "\(name) must begin with mailto: or https:")
            }
        case .text, .secret: break
        }
        guard text.utf8.count <= Limits.archiveCharactersMax else { throw .invalid(name, "\(name) is too long") }
    }
}

/// A credential that a vendor issues as a JSON file, which visitors supply as a whole.
struct CredentialFile {
    /// The field of the form.
    static let name = "file"

    private let members: JSON.Members

    /// - Throws: `missing_field`; `invalid_field`, in the visitor's language, for anything except such a file.
    init(_ text: String, _ texts: Texts) throws(PealError) {
        guard !text.trimmed.isEmpty else { throw .missing(Self.name) }
        guard text.utf8.count <= Limits.archiveCharactersMax,
            let members = (try? JSONParser.parse(text))?.objectValue
        else { throw .invalid(Self.name, texts[.notServiceAccount]) }
        // Firebase offers both files for download.
        guard members["project_info"] == nil else { throw .invalid(Self.name, texts[.googleServices]) }
        guard members["private_key"]?.stringValue != nil else { throw .invalid(Self.name, texts[.notServiceAccount]) }
        self.members = members
    }

    /// Empty for a member that is absent or not a string.
    subscript(_ name: String) -> String { members[name]?.stringValue ?? "" }

    static func field(_ call: PageCall, _ scope: String, _ error: PealError?) -> HTML {
        Field(
            name: name, label: call.texts[.serviceAccountFile], kind: .area(rows: 5), hint: call.texts[.dropFile],
            error: error.map(call.texts.message), isRequired: true, scope: scope,
            more: " spellcheck=\"false\" autocomplete=\"off\" class=\"code\" data-drop data-secret"
        ).html
    }
}
