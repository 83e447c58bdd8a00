internal import PealCore

/// Segments: named conditions, with the number of their devices.
enum SegmentPages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "segments", .read) { visit in try await page(visit).answer() },
        .app(.post, "segments", .devices, submit),
        .app(.post, "segments/delete", .devices, delete).confirming(.deleteSegmentConfirm),
    ]

    private static let itemsPerPage = 50

    private static func page(_ visit: PageCall, count: Int? = nil, error: PealError? = nil) async throws -> Page {
        let texts = visit.texts
        let app = try visit.app.key
        let after = visit.query["after"]
        let edit = visit.query["edit"] ?? visit.form["edit"]
        let (segments, edited) = try await visit.services.store.list { store, more in
            (
                try store.segments(app: app, after: after, limit: itemsPerPage + 1 + more),
                try edit.flatMap { try store.segment(app: app, name: $0) }
            )
        }
        let shown = Array(segments.prefix(itemsPerPage))
        var page = Page(visit, texts[.segments], .segments)
        page.lead = "\(texts[.segmentsLead])"
        page.body = """
            \(shown.isEmpty && after == nil ? visit.empty(.noSegmentsTitle, .noSegmentsText) : table(visit, shown))
            \(visit.pager(next: segments.count > itemsPerPage ? shown.last?.name : nil))
            \(HTML.when(visit.may(.devices), form(visit, edited, count, error)))
            """
        return page
    }

    private static func table(_ visit: PageCall, _ segments: [Segment]) -> HTML {
        let texts = visit.texts
        var table = ListTable(
            caption: texts[.segments], columns: [texts[.segment], texts[.condition], texts[.changed], texts[.actions]])
        table.rows = segments.map { segment in
            [
                "<strong>\(segment.name)</strong>", "<code>\(segment.condition.json.text)</code>",
                visit.time(segment.changedAt), actions(visit, segment),
            ]
        }
        return table.html
    }

    private static func actions(_ visit: PageCall, _ segment: Segment) -> HTML {
        let texts = visit.texts
        let name = PercentCoding.encode(segment.name)
        let listed = PercentCoding.encode(Form.listed(segment.name))
        let delete: HTML = """
            <form method="post" action="\(visit.link("segments", "delete"))" \
            data-confirm="\(texts[.deleteSegmentConfirm])">\(visit.askingFormStart)\
            <input type="hidden" name="name" value="\(segment.name)"><button class="small quiet">\(texts[.delete])</button></form>
            """
        return """
            <div class="row-actions">\
            \(if: visit.may(.send), "<a class=\"button small\" href=\"\(visit.link("compose"))?segments=\(listed)\">\(texts[.write])</a>")\
            \(if: visit.may(.devices), "<a class=\"button small\" href=\"\(visit.link("segments"))?edit=\(name)#edit\">\(texts[.edit])</a>")\
            \(if: visit.may(.devices), delete)</div>
            """
    }

    private static let example = """
        {"and": [{"attribute": {"name": "plan", "is": "pro"}}, {"locale": "de"}, {"seen": {"within_days": 30}}]}
        """

    private static func form(_ visit: PageCall, _ edited: Segment?, _ count: Int?, _ error: PealError?) -> HTML {
        let texts = visit.texts
        let name = Field(
            name: "name", label: texts[.name], value: visit.form["name"] ?? edited?.name ?? "",
            error: texts.message(error, at: "name"), isRequired: true,
            more: " spellcheck=\"false\"")
        let condition = Field(
            name: "where", label: texts[.condition], kind: .area(rows: 5),
            value: visit.form["where"] ?? edited?.condition.json.text ?? "", hint: texts[.conditionHint],
            error: error?.field?.hasPrefix("where") == true ? error.map(texts.message) : nil, isRequired: true,
            more: " spellcheck=\"false\" class=\"code\"")
        return """
            <section class="card narrow" id="edit"><h2>\(texts[.editSegment])</h2>
            \(HTML.with(error) { "<p class=\"notice bad\" role=\"alert\">\(texts.message($0))</p>" })
            \(HTML.with(count) { "<p class=\"notice good\" role=\"status\">\(texts.devices($0))</p>" })
            <form method="post" action="\(visit.link("segments"))" data-keep>\(visit.formStart)\
            \(HTML.with(edited) { "<input type=\"hidden\" name=\"edit\" value=\"\($0.name)\">" })\(name.html)\(condition.html)
            <details><summary>\(texts[.importExample])</summary><pre>\(example)</pre></details>
            <div class="actions end"><button name="step" value="count">\(texts[.countDevices])</button>\
            <button class="primary" name="step" value="save">\(texts[.save])</button></div></form></section>
            """
    }

    @Sendable private static func submit(_ visit: PageCall) async throws -> ConsoleAnswer {
        if visit.form["step"] == "edit" {
            try visit.demand(.read)
            return try await page(visit).answer()
        }
        do {
            let json = try ConsoleCondition.json(visit.form["where"], named: "where")
            let condition = try visit.services.native.condition(json, visit.now)
            let app = try visit.app.key
            if visit.form["step"] == "count" {
                try visit.demand(.read)
                var audience = Audience()
                audience.condition = condition
                let count = try await ComposeCheck.count(visit, audience, nil, isExact: true)
                return try await page(visit, count: count).answer()
            }
            let name = try ConsoleText.checked(visit.form["name"], named: "name", max: Limits.nameCharactersMax)
            let exists = try await visit.services.store.read { try $0.segment(app: app, name: name) != nil }
            try ConsoleText.refuse(name, field: "name", exists: exists, opened: visit.form["edit"])
            _ = try await visit.services.verbs.segments.put(name, condition, app: app, visit.verb)
            return ConsoleAnswer(redirect: visit.link(visit.may(.read) ? "segments" : "") + "?done=saved")
        } catch let error as PealError where visit.may(.read) && (error.field != nil || error.code == .conflict) {
            return try await page(visit, error: error).answer(error.code.httpStatus)
        }
    }

    @Sendable private static func delete(_ visit: PageCall) async throws -> ConsoleAnswer {
        let name = visit.form.raw("name")
        try await visit.services.verbs.segments.delete(name, app: try visit.app.key, visit.verb)
        return ConsoleAnswer(redirect: visit.link(visit.may(.read) ? "segments" : "") + "?done=deleted")
    }
}

/// Reads conditions from user input. What the API refuses is refused when they are counted, saved or sent.
enum ConsoleCondition {
    /// - Throws: `missing_field`; `invalid_field` for anything that is not JSON.
    static func json(_ text: String?, named name: String) throws(PealError) -> JSON {
        guard let text else { throw .missing(name) }
        guard let json = try? JSONParser.parse(Array(text.utf8), refusesRepeated: true) else {
            throw .invalid(name, "the condition is not valid JSON: see the example")
        }
        return json
    }

    /// - Throws: `missing_field`; `invalid_field` for anything that is not a condition.
    static func read(_ text: String?, named name: String) throws(PealError) -> Condition {
        let json = try json(text, named: name)
        guard let condition = Condition(stored: json), condition.json.sorted == json.sorted,
            condition.size <= Limits.conditionsMax
        else { throw .invalid(name, "the condition is not valid: see the example") }
        return condition
    }
}
