internal import PealCore

/// Keys: list, create (the only page that shows the secrets), revoke.
enum KeyPages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "keys", .manage) { call in try await page(call).answer() },
        .app(.post, "keys", .manage, make).redrawing { call, refusal in try await page(call, error: refusal).answer() },
        .app(.post, "keys/:id/revoke", .manage, revoke).confirming(.revokeConfirm),
    ]

    private static let itemsPerPage = 50

    /// The secrets of a new key.
    private struct Made {
        let secret: String
        /// Only a device key has one.
        let shared: String?

        init?(_ reply: Reply) {
            let values = try? JSONParser.parse(reply.body)
            guard let secret = values?["secret"]?.stringValue else { return nil }
            (self.secret, shared) = (secret, values?["shared_secret"]?.stringValue)
        }
    }

    private static func page(_ call: PageCall, made: Made? = nil, error: PealError? = nil) async throws -> Page {
        let texts = call.texts
        let app = try call.app.key
        let keys = try await call.list { store, _ in try store.keys(app: app) }
        let first = call.query["after"].flatMap { Int($0) } ?? 0
        let shown = keys[min(max(0, first), keys.count)...].prefix(itemsPerPage)
        var page = Page(call, texts[.keys], .keys)
        page.lead = "\(texts[.keysLead])"
        page.actions = HTML.when(!keys.isEmpty, "<a class=\"button\" href=\"#new\">\(texts[.newKey])</a>")
        page.body = """
            \(HTML.with(made) { secrets(call, $0) })
            \(keys.isEmpty ? call.empty(.noKeysTitle, .noKeysText) : table(call, Array(shown)))
            \(call.pager(next: shown.endIndex < keys.endIndex ? String(shown.endIndex) : nil))
            \(form(call, made == nil ? call.form : Form(), error))
            """
        return page
    }

    private static func secrets(_ call: PageCall, _ made: Made) -> HTML {
        let texts = call.texts
        func secret(_ value: String, _ id: String) -> HTML {
            """
            <p><code class="secret" id="\(id)">\(value)</code> \
            <button type="button" class="small" data-copy="\(id)">\(texts[.copy])</button></p>
            """
        }
        return """
            <section class="notice good" role="status"><h2>\(texts[.keyMade])</h2>\
            <p>\(texts[made.shared == nil ? .keyMadeText : .deviceKeyMadeText])</p>\(secret(made.secret, "secret"))\
            \(HTML.with(made.shared) { shared in
                "<h3>\(texts[.sharedSecret])</h3><p>\(texts[.sharedSecretText])</p>\(secret(shared, "shared-secret"))"
            })</section>
            """
    }

    private static func table(_ call: PageCall, _ keys: [APIKey]) -> HTML {
        let texts = call.texts
        var table = ListTable(
            caption: texts[.keys],
            columns: [
                texts[.name], texts[.scopes], texts[.made], texts[.lastUsed], texts[.expires], texts[.actions],
            ])
        table.rows = keys.map { key in
            let scopes = APIKey.Scope.allCases.filter(key.scopes.contains)
            return [
                """
                <strong class="title">\(key.name ?? "–")</strong><p class="hint">\(key.dialect.rawValue) \
                <code title="\(texts[.publicPart])">\(key.publicHalf)</code></p>
                """,
                "\(scopes.map { "<span class=\"tag\">\($0.rawValue)</span> " as HTML })", call.time(key.createdAt),
                call.time(key.lastUsedAt), call.time(key.expiresAt),
                call.button(
                    texts[.revoke], to: call.link("keys", key.id.description, "revoke"), "small quiet",
                    confirm: texts[.revokeConfirm]),
            ]
        }
        return table.html
    }

    /// - Parameter given: the fields of a form that was not accepted.
    private static func form(_ call: PageCall, _ given: Form, _ error: PealError?) -> HTML {
        let texts = call.texts
        let isGiven = !given.pairs.isEmpty
        let chosen = isGiven ? given.all("scopes") : APIKey.Scope.usual.map(\.rawValue)
        let name = Field(
            name: "name", label: texts[.name], value: given["name"] ?? "", hint: texts[.keyNameHint],
            error: texts.message(error, at: "name"), more: " maxlength=\"255\"")
        let days = Field(
            name: "days", label: texts[.validDays], value: given["days"] ?? "", hint: texts[.validDaysHint],
            error: texts.message(error, at: "days"), more: " inputmode=\"numeric\"")
        return """
            <section class="card narrow" id="new"><h2>\(texts[.newKey])</h2>
            \(call.problem(error))
            <form method="post" action="\(call.link("keys"))" data-keep\(if: isGiven, " data-sent")>\(call.formStart)\
            \(HTML.when(mayCreateDeviceKey(call), kind(call, given, error)))\(name.html)
            \(scopes(call, chosen, error))
            \(days.html)
            <button class="primary">\(texts[.makeKey])</button></form></section>
            """
    }

    private static func scopes(_ call: PageCall, _ chosen: [String], _ error: PealError?) -> HTML {
        let wrong = call.texts.message(error, at: "scopes")
        return """
            <fieldset class="field scopes"><legend>\(call.texts[.scopes])</legend><div class="boxes">\
            \(HTML.each(APIKey.Scope.allCases.filter(call.may)) { scope in
                """
                <label><input type="checkbox" name="scopes" value="\(scope.rawValue)"\
                \(if: chosen.contains(scope.rawValue), " checked")\
                \(if: wrong != nil, " aria-invalid=\"true\" aria-describedby=\"scopes-error\"")> \
                \(scope.rawValue)</label>
                """
            })</div>\(HTML.with(wrong) { "<p class=\"error\" id=\"scopes-error\">\($0)</p>" })</fieldset>
            """
    }

    /// The kinds of keys that the console creates.
    private enum Kind: String, CaseIterable {
        case native, device

        var word: Word { self == .native ? .nativeKey : .deviceKey }
    }

    /// A device key has the scope of its kind; those of a native key are chosen.
    private static func mayCreateDeviceKey(_ call: PageCall) -> Bool {
        call.services.deviceKeyRules.defaultScopes.allSatisfy(call.may)
    }

    private static func kind(_ call: PageCall, _ given: Form, _ error: PealError?) -> HTML {
        let texts = call.texts
        return Field(
            name: "kind", label: texts[.kind],
            kind: .choice(Kind.allCases.map { ($0.rawValue, texts[$0.word]) }),
            value: given["kind"] ?? call.query["kind"] ?? "", hint: texts[.deviceKeyHint],
            error: texts.message(error, at: "kind")
        ).html
    }

    /// What the form asks for, without the fields that all keys have.
    private static func draft(_ call: PageCall) throws(PealError) -> KeyDraft {
        guard let kind = Kind(rawValue: call.form["kind"] ?? Kind.native.rawValue) else {
            throw .invalid("kind", "kind is unknown")
        }
        let services = call.services
        var draft = KeyDraft(rules: kind == .device ? services.deviceKeyRules : services.keyRules)
        if kind == .native {
            let scopes = Set(call.form.all("scopes").compactMap { APIKey.Scope(rawValue: $0) })
            guard !scopes.isEmpty else { throw .invalid("scopes", call.texts[.chooseScope]) }
            draft.scopes = scopes
        }
        guard draft.effectiveScopes.allSatisfy(call.may) else {
            throw PealError(.forbidden, "a key cannot grant a scope that it lacks", field: "scopes")
        }
        return draft
    }

    @Sendable private static func make(_ call: PageCall) async throws -> ConsoleAnswer {
        do {
            var draft = try draft(call)
            if let name = call.form["name"] {
                draft.name = try ConsoleText.checked(name, named: "name", max: Limits.nameCharactersMax)
            }
            if let text = call.form["days"] {
                guard let days = Int64(text), (1...3650).contains(days) else {
                    throw PealError.invalid("days", "give a number of days from 1 to 3650")
                }
                draft.expiresAt = call.now + .seconds(days * 86_400)
            }
            let reply = try await call.services.verbs.keys.create(draft, app: try call.app.key, call.verb) { made in
                let shared = made.stored.sharedSecret.map(JSON.string)
                return Reply(
                    status: 201, .compact([("secret", .string(made.secret)), ("shared_secret", shared)]))
            }
            return try await page(call, made: Made(reply)).answer()
        } catch let error as PealError where error.code.httpStatus < 500 {
            return try await page(call, error: error).answer(error.code.httpStatus)
        }
    }

    @Sendable private static func revoke(_ call: PageCall) async throws -> ConsoleAnswer {
        try await call.services.verbs.keys.revoke(try call.id("id", of: "key"), app: try call.app.key, call.verb)
        return ConsoleAnswer(redirect: call.link("keys") + "?done=revoked")
    }
}
