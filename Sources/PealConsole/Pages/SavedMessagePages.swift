internal import PealCore

/// Drafts and templates: the list, saving from Compose, opening in Compose, deleting.
enum SavedMessagePages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "drafts", .send, list),
        .app(.post, "drafts/delete", .send, delete).confirming(.deleteSavedConfirm),
    ]

    private static let itemsPerPage = 50

    /// Drafts and templates, or one kind of them page by page.
    @Sendable private static func list(_ call: PageCall) async throws -> ConsoleAnswer {
        let texts = call.texts
        let app = try call.app.key
        let kinds = call.query["kind"].flatMap { SavedMessage.Kind(rawValue: $0) }.map { [$0] } ?? [.draft, .template]
        let after = kinds.count == 1 ? call.query["after"] : nil
        let found = try await call.list { store, more in
            try kinds.map { kind in
                (kind, try store.savedMessages(app: app, kind, after: after, limit: itemsPerPage + 1 + more))
            }
        }
        var page = Page(call, texts[.draftsAndTemplates], .compose)
        page.trail = [(texts[.compose], call.link("compose"))]
        page.lead = "\(texts[.draftsLead])"
        guard found.contains(where: { !$1.isEmpty }) || call.query["kind"] != nil else {
            page.body = call.empty(.noDraftsTitle, .noDraftsText, action: call.composeLink)
            return page.answer()
        }
        page.body = HTML.each(found) { section(call, $0, $1, isAlone: kinds.count == 1) }
        return page.answer()
    }

    /// - Parameter items: one more than is shown if there are more.
    private static func section(
        _ call: PageCall, _ kind: SavedMessage.Kind, _ items: [SavedMessage], isAlone: Bool
    ) -> HTML {
        let texts = call.texts
        let title = texts[kind == .draft ? .drafts : .templates]
        let shown = Array(items.prefix(itemsPerPage))
        let hasMore = items.count > itemsPerPage
        let all: HTML = """
            <p><a class="button" href="\(call.link("drafts"))?kind=\(kind.rawValue)">\(texts[.showAll])</a></p>
            """
        return """
            <section><h2>\(title)</h2>\(table(call, shown, title))\(if: hasMore && !isAlone, all)\
            \(if: isAlone, call.pager(next: hasMore ? shown.last?.name : nil))</section>
            """
    }

    private static func table(_ call: PageCall, _ items: [SavedMessage], _ caption: String) -> HTML {
        let texts = call.texts
        guard !items.isEmpty else { return "<p class=\"none\">\(texts[.nothingSaved])</p>" }
        var table = ListTable(
            caption: caption, columns: [texts[.name], texts[.message], texts[.changed], texts[.actions]])
        table.rows = items.map { item in
            let link = "\(call.link("compose"))?\(item.kind.rawValue)=\(PercentCoding.encode(item.name))"
            let form = ComposeForm.form(of: item.request)
            return [
                "<a class=\"title\" href=\"\(link)\">\(item.name)</a>",
                "\(form["title"] ?? form["body"] ?? texts[.untitled])", call.time(item.changedAt),
                """
                <div class="row-actions"><a class="button small" href="\(link)">\(texts[.open])</a>
                <form method="post" action="\(call.link("drafts", "delete"))" data-confirm="\(texts[.deleteSavedConfirm])">\
                \(call.askingFormStart)<input type="hidden" name="kind" value="\(item.kind.rawValue)">\
                <input type="hidden" name="name" value="\(item.name)"><button class="small quiet">\(texts[.delete])</button></form></div>
                """,
            ]
        }
        return table.html
    }

    @Sendable private static func delete(_ call: PageCall) async throws -> ConsoleAnswer {
        guard let kind = call.form["kind"].flatMap({ SavedMessage.Kind(rawValue: $0) }) else {
            throw PealError.notFound("draft")
        }
        try await verbs(call).delete(kind, call.form.raw("name"), app: try call.app.key, call.verb)
        return ConsoleAnswer(redirect: call.link("drafts") + "?done=deleted")
    }

    private static func verbs(_ call: PageCall) -> SavedMessageVerbs {
        call.services.verbs.savedMessages
    }
}

extension SavedMessagePages {
    /// The fields of the draft or template that the query names, and the members that have no field; nil if it names
    /// none.
    /// - Throws: `not_found`.
    static func form(_ call: PageCall) async throws -> (form: Form, leftOut: [String])? {
        for kind in SavedMessage.Kind.allCases {
            guard let name = call.query[kind.rawValue] else { continue }
            let app = try call.app.key
            guard let saved = try await call.services.store.read({ try $0.savedMessage(app: app, kind, name: name) })
            else { throw PealError.notFound(kind.rawValue) }
            let form = ComposeForm.form(of: saved.request, keepsTime: kind == .draft)
            // A draft is deleted once it is sent; a template is kept.
            return (
                form.with(kind.rawValue, name).with("save_name", name), ComposeForm.leftOut(of: saved.request)
            )
        }
        return nil
    }

    /// Where Compose saves the form.
    static func saveFields(_ call: PageCall, _ form: ComposeForm, _ error: PealError?) -> HTML {
        let texts = call.texts
        let name = Field(
            name: "save_name", label: texts[.saveName], value: form.form["save_name"] ?? "",
            hint: texts[.saveNameHint], error: texts.message(error, at: "save_name"),
            more: " maxlength=\"255\" autocomplete=\"off\"")
        return """
            <section class="card"><details\(if: form.form["save_name"] != nil || error?.field == "save_name", " open")>\
            <summary>\(texts[.saveForLater])</summary>\(name.html)
            <div class="actions end"><button name="step" value="save_draft" formnovalidate>\(texts[.saveDraft])</button>\
            <button name="step" value="save_template" formnovalidate>\(texts[.saveTemplate])</button></div></details>\
            \(HTML.each(SavedMessage.Kind.allCases) { kind in
                HTML.with(form.form[kind.rawValue]) {
                    "<input type=\"hidden\" name=\"\(kind.rawValue)\" value=\"\($0)\">"
                }
            })</section>
            """
    }

    static func save(
        _ call: PageCall, _ form: ComposeForm, _ kind: SavedMessage.Kind
    ) async throws -> ConsoleAnswer {
        let name = try ConsoleText.checked(call.form["save_name"], named: "save_name", max: Limits.nameCharactersMax)
        let request = try form.request()
        let app = try call.app.key
        let exists = try await call.services.store.read { try $0.savedMessage(app: app, kind, name: name) != nil }
        try ConsoleText.refuse(name, field: "save_name", exists: exists, opened: call.form[kind.rawValue])
        _ = try await verbs(call).put(
            SavedMessage(kind: kind, name: name, request: request, createdAt: call.now, changedAt: call.now),
            app: app, call.verb)
        return ConsoleAnswer(redirect: call.link("drafts") + "?done=saved")
    }

    /// Deletes the draft that was sent. If it cannot be deleted, the message is sent nevertheless.
    static func end(_ call: PageCall) async {
        guard let name = call.form["draft"], let app = try? call.app.key else { return }
        try? await verbs(call).delete(.draft, name, app: app, call.verb)
    }
}

extension Form {
    /// The form with one more row in Compose.
    var withRowMore: Form {
        let shown = min(ComposeRows.rowsMax, max(1, Int(self["rows"] ?? "") ?? 1))
        return with("rows", String(min(ComposeRows.rowsMax, shown + 1)))
    }
}
