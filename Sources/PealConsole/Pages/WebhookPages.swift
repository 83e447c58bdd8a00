internal import PealCore

/// Webhooks: list, create, change, delete; the deliveries of one webhook, and their retries.
enum WebhookPages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "webhooks", .manage) { call in try await list(call, try await edited(call)).answer() },
        .app(.post, "webhooks", .manage, put).redrawing { call, refusal in
            try await list(call, call.form, error: refusal).answer()
        },
        .app(.get, "webhooks/:name", .manage, show),
        .app(.post, "webhooks/:name/delete", .manage, delete).confirming(.deleteWebhookConfirm),
        .app(.post, "webhooks/:name/test", .manage, test),
        .app(.post, "webhooks/:name/deliveries/:id/retry", .manage, retry),
    ]

    /// The fields of the webhook that the query names for a change, without its secret; empty for a new one.
    private static func edited(_ call: PageCall) async throws -> Form {
        let app = try call.app.key
        guard let name = call.query["edit"],
            let webhook = try await call.services.store.read({ try $0.webhook(app: app, name: name) })
        else { return Form() }
        let form = Form().with("edit", webhook.name).with("name", webhook.name).with("url", webhook.url)
            .with("kind", webhook.kind.rawValue).with("type", webhook.authentication.type)
        return switch webhook.authentication {
        case .basic(let name, _), .header(let name, _): form.with("username", name)
        case .bearer, .signature, .secret: form
        }
    }

    /// - Parameter given: the fields of the form.
    private static func list(_ call: PageCall, _ given: Form, error: PealError? = nil) async throws -> Page {
        let texts = call.texts
        let app = try call.app.key
        let webhooks = try await call.list { store, _ in
            try store.webhooks(app: app, after: nil, limit: Limits.listItemsMax)
        }
        var page = Page(call, texts[.webhooks], .webhooks)
        page.lead = "\(texts[.webhooksLead])"
        page.actions = HTML.when(
            !webhooks.isEmpty && given["edit"] == nil, "<a class=\"button\" href=\"#edit\">\(texts[.newWebhook])</a>")
        var table = ListTable(
            caption: texts[.webhooks], columns: [texts[.name], texts[.kind], texts[.url], texts[.state]])
        table.rows = webhooks.map { webhook in
            [
                "<a class=\"title\" href=\"\(call.link("webhooks", webhook.name))\">\(webhook.name)</a>",
                "\(webhook.kind.rawValue)", "<code class=\"long\">\(webhook.url)</code>", state(call, webhook),
            ]
        }
        page.body = """
            \(webhooks.isEmpty ? call.empty(.noWebhooksTitle, .noWebhooksText) : table.html)
            \(form(call, given, error))
            """
        return page
    }

    private static func state(_ call: PageCall, _ webhook: Webhook) -> HTML {
        guard let at = webhook.disabledAt else { return call.badge(call.texts[.webhookActive], "good") }
        return "\(call.badge(call.texts[.webhookDisabled], "bad")) \(call.time(at))"
    }

    private static let types = ["signature", "bearer", "basic", "header", "secret"]

    private static func form(_ call: PageCall, _ given: Form, _ error: PealError?) -> HTML {
        let texts = call.texts
        func field(_ name: String, _ label: Word, _ kind: Field.Kind = .text, hint: Word? = nil, required: Bool = false)
            -> HTML
        {
            Field(
                name: name, label: texts[label], kind: kind, value: given.raw(name), hint: hint.map { texts[$0] },
                error: texts.message(error, at: name), isRequired: required,
                more: " spellcheck=\"false\" autocomplete=\"off\""
                    + (name == "name" && given["edit"] != nil ? " readonly" : "")
            ).html
        }
        let kinds = call.services.options.webhookKinds.map { ($0, $0) }
        return """
            <section class="card narrow" id="edit"><h2>\(texts[given["edit"] == nil ? .newWebhook : .editWebhook])</h2>
            \(call.problem(error))
            <form method="post" action="\(call.link("webhooks"))" data-keep\(if: call.isPosted, " data-sent")>\(call.formStart)\
            \(HTML.with(given["edit"]) { "<input type=\"hidden\" name=\"edit\" value=\"\($0)\">" })
            \(field("name", .name, required: true))\(field("url", .url, required: true))
            \(field("kind", .kind, .choice(kinds)))\(field("type", .authentication, .choice(types.map { ($0, $0) })))
            \(field("username", .userOrHeader, hint: .userOrHeaderHint))\
            \(field("value", .secret, .secret, hint: .webhookSecretHint, required: true))
            <button class="primary">\(texts[.save])</button></form></section>
            """
    }

    @Sendable private static func put(_ call: PageCall) async throws -> ConsoleAnswer {
        do {
            let name = try ConsoleText.checked(call.form["name"], named: "name", max: Limits.nameCharactersMax)
            let kind = call.form["kind"] ?? ""
            guard call.services.options.webhookKinds.contains(kind) else {
                throw PealError.invalid("kind", "kind is unknown")
            }
            let app = try call.app.key
            let exists = try await call.services.store.read { try $0.webhook(app: app, name: name) != nil }
            try ConsoleText.refuse(name, field: "name", exists: exists, opened: call.form["edit"])
            // Another name would be a second webhook, which gets every event too.
            guard call.form["edit"] ?? name == name else {
                throw PealError.invalid("name", "a webhook keeps its name")
            }
            let draft = WebhookVerbs.Draft(
                app: app, name: name, url: call.form["url"] ?? "", kind: .init(rawValue: kind),
                authentication: try authentication(call))
            _ = try await call.services.verbs.webhooks.put(draft, call.verb)
            return ConsoleAnswer(redirect: call.link("webhooks") + "?done=saved")
        } catch let error as PealError where error.code.httpStatus < 500 {
            return try await list(call, call.form, error: error).answer(error.code.httpStatus)
        }
    }

    /// As the API reads it; errors name the form's fields.
    private static func authentication(_ call: PageCall) throws(PealError) -> Webhook.Authentication {
        let (value, name) = (JSON.string(call.form.raw("value")), call.form["username"].map(JSON.string))
        let type = call.form["type"] ?? "signature"
        let members: [(String, JSON?)] =
            switch type {
            case "bearer": [("token", value)]
            case "basic": [("username", name), ("password", value)]
            case "header": [("name", name), ("value", value)]
            default: [("secret", value)]
            }
        do throws(PealError) {
            return try call.services.native.authentication(
                .compact([("type", .string(type))] + members), call.now)
        } catch {
            let isName = ["name", "username"].contains(error.field)
            throw PealError(
                error.code, error.message, field: error.field == "type" ? "type" : isName ? "username" : "value")
        }
    }

    @Sendable private static func show(_ call: PageCall) async throws -> ConsoleAnswer {
        let texts = call.texts
        let (app, name) = (try call.app.key, call.parameter("name"))
        let before = call.query["after"].flatMap { WebhookDeliveryID($0) }
        let found = try await call.list { store, more in
            try store.webhook(app: app, name: name).map { webhook in
                (webhook, try store.deliveries(of: webhook.reference, before: before, limit: 26 + more))
            }
        }
        guard let (webhook, deliveries) = found else { throw PealError.notFound("webhook") }
        var page = Page(call, webhook.name, .webhooks)
        page.trail = [(texts[.webhooks], call.link("webhooks"))]
        let delete = call.button(
            texts[.delete], to: call.link("webhooks", name, "delete"), "danger", confirm: texts[.deleteWebhookConfirm])
        let test = call.button(texts[.sendTestEvent], to: call.link("webhooks", name, "test"))
        let edit: HTML = """
            <a class="button" href="\(call.link("webhooks"))?edit=\(PercentCoding.encode(name))#edit">\(texts[.edit])</a>
            """
        page.actions = "\(HTML.when(webhook.disabledAt == nil, test))\(edit)\(delete)"
        var facts = FactList()
        facts.add(texts[.url], "<code class=\"long\">\(webhook.url)</code>")
        facts.add(texts[.kind], text: webhook.kind.rawValue)
        facts.add(texts[.authentication], text: webhook.authentication.type)
        facts.add(texts[.state], state(call, webhook))
        facts.add(texts[.made], call.time(webhook.createdAt))
        let next = deliveries.count > 25 ? deliveries[24].id.description : nil
        page.body = """
            \(facts.html)<section><h2>\(texts[.deliveries])</h2>\
            \(table(call, name, Array(deliveries.prefix(25))))\(call.pager(next: next))</section>
            """
        return page.answer()
    }

    private static func table(_ call: PageCall, _ name: String, _ deliveries: [WebhookDelivery]) -> HTML {
        let texts = call.texts
        guard !deliveries.isEmpty else { return "<p class=\"none\">\(texts[.noDeliveries])</p>" }
        var table = ListTable(
            caption: texts[.deliveries],
            columns: [
                texts[.kind], texts[.state], texts[.items], texts[.attempts], texts[.lastAnswer], texts[.actions],
            ],
            numbers: [2, 3])
        table.rows = deliveries.map { delivery in
            let tone = delivery.state == .delivered ? "good" : delivery.state == .failed ? "bad" : "wait"
            let made = call.time(delivery.createdAt)
            let next: HTML = """
                <p class="hint">\(texts[.nextAttempt]) \(call.time(delivery.nextAttemptAt))</p>
                """
            return [
                "<strong class=\"title\">\(HTML.breakable(delivery.type))</strong><p class=\"hint\">\(made)</p>",
                "\(call.badge(texts.delivery(delivery.state), tone))\(if: delivery.state == .pending, next)",
                call.number(delivery.itemCount), call.number(delivery.attempts),
                answer(call, delivery),
                HTML.when(
                    delivery.state != .delivered,
                    call.button(
                        texts[.retry], to: call.link("webhooks", name, "deliveries", delivery.id.description, "retry"),
                        "small")),
            ]
        }
        return table.html
    }

    /// The status of the receiver's last answer, or why there was none.
    private static func answer(_ call: PageCall, _ delivery: WebhookDelivery) -> HTML {
        if let status = delivery.lastStatus { return "\(String(status))" }
        guard let error = delivery.lastError else { return "<span class=\"none\">–</span>" }
        let meaning = call.texts.meaning(ofWebhookError: error)
        return "<code>\(error)</code>\(HTML.with(meaning) { "<p class=\"hint\">\($0)</p>" })"
    }

    @Sendable private static func delete(_ call: PageCall) async throws -> ConsoleAnswer {
        try await call.services.verbs.webhooks.delete(call.parameter("name"), app: try call.app.key, call.verb)
        return ConsoleAnswer(redirect: call.link("webhooks") + "?done=deleted")
    }

    @Sendable private static func test(_ call: PageCall) async throws -> ConsoleAnswer {
        let name = call.parameter("name")
        _ = try await call.services.verbs.webhooks.test(
            name, id: call.services.randomness.timeOrderedIdentifier(at: call.now), app: try call.app.key,
            call.verb
        ) { _ in Reply(status: 202, body: []) }
        return ConsoleAnswer(redirect: call.link("webhooks", name) + "?done=test-queued")
    }

    @Sendable private static func retry(_ call: PageCall) async throws -> ConsoleAnswer {
        let name = call.parameter("name")
        _ = try await call.services.verbs.webhooks.retry(
            try call.id("id", of: "delivery"), of: name, app: try call.app.key, call.verb
        ) { _ in Reply(status: 200, body: []) }
        return ConsoleAnswer(redirect: call.link("webhooks", name) + "?done=retried")
    }
}

extension Texts {
    func delivery(_ state: WebhookDelivery.State) -> String {
        switch state {
        case .pending: self[.pending]
        case .delivered: self[.delivered]
        case .failed: self[.failed]
        }
    }
}
