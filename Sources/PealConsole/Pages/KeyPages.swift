internal import PealCore

/// Keys: list, create (the only page that shows the secret), revoke.
enum KeyPages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "keys", .manage) { call in try await page(call).answer() },
        .app(.post, "keys", .manage, make).redrawing { call, refusal in try await page(call, error: refusal).answer() },
        .app(.post, "keys/:id/revoke", .manage, revoke).confirming(.revokeConfirm),
    ]

    private static let itemsPerPage = 50

    private static func page(_ call: PageCall, secret: String? = nil, error: PealError? = nil) async throws -> Page {
        let texts = call.texts
        let app = try call.app.key
        let keys = try await call.list { store, _ in try store.keys(app: app) }
        let first = call.query["after"].flatMap { Int($0) } ?? 0
        let shown = keys[min(max(0, first), keys.count)...].prefix(itemsPerPage)
        var page = Page(call, texts[.keys], .keys)
        page.lead = "\(texts[.keysLead])"
        page.body = """
            \(HTML.with(secret) { secret in
                """
                <section class="notice good" role="status"><h2>\(texts[.keyMade])</h2><p>\(texts[.keyMadeText])</p>\
                <p><code class="secret" id="secret">\(secret)</code> \
                <button type="button" class="small" data-copy="secret">\(texts[.copy])</button></p></section>
                """
            })
            \(keys.isEmpty ? call.empty(.noKeysTitle, .noKeysText) : table(call, Array(shown)))
            \(call.pager(next: shown.endIndex < keys.endIndex ? String(shown.endIndex) : nil))
            \(form(call, secret == nil ? call.form : Form(), error))
            """
        return page
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
            <section class="card narrow"><h2>\(texts[.newKey])</h2>
            \(call.problem(error))
            <form method="post" action="\(call.link("keys"))" data-keep\(if: isGiven, " data-sent")>\(call.formStart)\(name.html)
            <fieldset class="field"><legend>\(texts[.scopes])</legend><div class="boxes">\
            \(HTML.each(APIKey.Scope.allCases.filter(call.may)) { scope in
                """
                <label><input type="checkbox" name="scopes" value="\(scope.rawValue)"\
                \(if: chosen.contains(scope.rawValue), " checked")> \(scope.rawValue)</label>
                """
            })</div></fieldset>
            \(days.html)
            <button class="primary">\(texts[.makeKey])</button></form></section>
            """
    }

    @Sendable private static func make(_ call: PageCall) async throws -> ConsoleAnswer {
        do {
            var draft = KeyDraft(rules: call.services.keyRules)
            let scopes = Set(call.form.all("scopes").compactMap { APIKey.Scope(rawValue: $0) })
            guard !scopes.isEmpty else { throw PealError.invalid("scopes", call.texts[.chooseScope]) }
            guard scopes.allSatisfy(call.may) else {
                throw PealError(.forbidden, "a key cannot grant a scope that it lacks", field: "scopes")
            }
            draft.scopes = scopes
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
                Reply(status: 201, ["secret": .string(made.secret)])
            }
            let secret = (try? JSONParser.parse(reply.body))?["secret"]?.stringValue
            return try await page(call, secret: secret).answer()
        } catch let error as PealError where error.code.httpStatus < 500 {
            return try await page(call, error: error).answer(error.code.httpStatus)
        }
    }

    @Sendable private static func revoke(_ call: PageCall) async throws -> ConsoleAnswer {
        try await call.services.verbs.keys.revoke(try call.id("id", of: "key"), app: try call.app.key, call.verb)
        return ConsoleAnswer(redirect: call.link("keys") + "?done=revoked")
    }
}
