internal import PealCore

/// Segments: named conditions, with the number of their devices.
enum SegmentPages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "segments", .read) { call in try await page(call).answer() },
        .app(.post, "segments", .devices, submit).redrawing { call, refusal in
            try call.demand(.read)
            return try await page(call, error: refusal).answer()
        },
        .app(.post, "segments/delete", .devices, delete).confirming(.deleteSegmentConfirm),
    ]

    private static let itemsPerPage = 50

    private static func page(_ call: PageCall, count: Int? = nil, error: PealError? = nil) async throws -> Page {
        let texts = call.texts
        let app = try call.app.key
        let after = call.query["after"]
        let edit = call.query["edit"] ?? call.form["edit"]
        let (segments, edited) = try await call.list { store, more in
            (
                try store.segments(app: app, after: after, limit: itemsPerPage + 1 + more),
                try edit.flatMap { try store.segment(app: app, name: $0) }
            )
        }
        let shown = Array(segments.prefix(itemsPerPage))
        var page = Page(call, texts[.segments], .segments)
        page.lead = "\(texts[.segmentsLead])"
        page.actions = HTML.when(
            !shown.isEmpty && edited == nil && call.may(.devices),
            "<a class=\"button\" href=\"#edit\">\(texts[.newSegment])</a>")
        page.body = """
            \(shown.isEmpty && after == nil ? call.empty(.noSegmentsTitle, .noSegmentsText) : table(call, shown))
            \(call.pager(next: segments.count > itemsPerPage ? shown.last?.name : nil))
            \(HTML.when(call.may(.devices), form(call, edited, count, error)))
            """
        return page
    }

    private static func table(_ call: PageCall, _ segments: [Segment]) -> HTML {
        let texts = call.texts
        var table = ListTable(
            caption: texts[.segments], columns: [texts[.segment], texts[.condition], texts[.changed], texts[.actions]])
        table.rows = segments.map { segment in
            [
                "<strong>\(segment.name)</strong>", "<code>\(segment.condition.json.text)</code>",
                call.time(segment.changedAt), actions(call, segment),
            ]
        }
        return table.html
    }

    private static func actions(_ call: PageCall, _ segment: Segment) -> HTML {
        let texts = call.texts
        let name = PercentCoding.encode(segment.name)
        let listed = PercentCoding.encode(Form.listed(segment.name))
        let delete: HTML = """
            <form method="post" action="\(call.link("segments", "delete"))" \
            data-confirm="\(texts[.deleteSegmentConfirm])">\(call.askingFormStart)\
            <input type="hidden" name="name" value="\(segment.name)"><button class="small quiet">\(texts[.delete])</button></form>
            """
        return """
            <div class="row-actions">\
            \(if: call.may(.send), "<a class=\"button small\" href=\"\(call.link("compose"))?segments=\(listed)\">\(texts[.write])</a>")\
            \(if: call.may(.devices), "<a class=\"button small\" href=\"\(call.link("segments"))?edit=\(name)#edit\">\(texts[.edit])</a>")\
            \(if: call.may(.devices), delete)</div>
            """
    }

    private static let example = """
        {"and": [{"attribute": {"name": "plan", "is": "pro"}}, {"locale": "de"}, {"seen": {"within_days": 30}}]}
        """

    private static func form(_ call: PageCall, _ edited: Segment?, _ count: Int?, _ error: PealError?) -> HTML {
        let texts = call.texts
        let name = Field(
            name: "name", label: texts[.name], value: call.form["name"] ?? edited?.name ?? "",
            error: texts.message(error, at: "name"), isRequired: true,
            more: " spellcheck=\"false\"")
        let condition = Field(
            name: "where", label: texts[.condition], kind: .area(rows: 5),
            value: call.form["where"] ?? edited?.condition.json.text ?? "", hint: texts[.conditionHint],
            error: error?.field?.hasPrefix("where") == true ? error.map(texts.message) : nil, isRequired: true,
            more: " spellcheck=\"false\" class=\"code\"")
        return """
            <section class="card narrow" id="edit"><h2>\(texts[edited == nil ? .newSegment : .editSegment])</h2>
            \(call.problem(error))
            \(HTML.with(count) { "<p class=\"notice good\" role=\"status\">\(texts.devices($0))</p>" })
            <form method="post" action="\(call.link("segments"))" data-keep\(if: call.isPosted, " data-sent")>\(call.formStart)\
            \(HTML.with(edited) { "<input type=\"hidden\" name=\"edit\" value=\"\($0.name)\">" })\(name.html)\(condition.html)
            <details><summary>\(texts[.importExample])</summary><pre>\(example)</pre></details>
            <div class="actions end"><button name="step" value="count">\(texts[.countDevices])</button>\
            <button class="primary" name="step" value="save">\(texts[.save])</button></div></form></section>
            """
    }

    @Sendable private static func submit(_ call: PageCall) async throws -> ConsoleAnswer {
        do {
            let json = try ConsoleCondition.json(call.form["where"], named: "where")
            let condition = try call.services.native.condition(json, call.now)
            let app = try call.app.key
            if call.form["step"] == "count" {
                try call.demand(.read)
                var audience = Audience()
                audience.condition = condition
                let count = try await ComposeCheck.count(call, audience, nil, isExact: true)
                return try await page(call, count: count).answer()
            }
            let name = try ConsoleText.checked(call.form["name"], named: "name", max: Limits.nameCharactersMax)
            let exists = try await call.services.store.read { try $0.segment(app: app, name: name) != nil }
            try ConsoleText.refuse(name, field: "name", exists: exists, opened: call.form["edit"])
            _ = try await call.services.verbs.segments.put(name, condition, app: app, call.verb)
            return ConsoleAnswer(redirect: call.link(call.may(.read) ? "segments" : "") + "?done=saved")
        } catch let error as PealError where call.may(.read) && (error.field != nil || error.code == .conflict) {
            return try await page(call, error: error).answer(error.code.httpStatus)
        }
    }

    @Sendable private static func delete(_ call: PageCall) async throws -> ConsoleAnswer {
        let name = call.form.raw("name")
        try await call.services.verbs.segments.delete(name, app: try call.app.key, call.verb)
        return ConsoleAnswer(redirect: call.link(call.may(.read) ? "segments" : "") + "?done=deleted")
    }
}

/// Reads conditions from user input. What the API refuses is refused when they are counted, saved or sent.
enum ConsoleCondition {
    /// - Throws: `missing_field`; `invalid_field` for anything that is not JSON.
    static func json(_ text: String?, named name: String) throws(PealError) -> JSON {
        guard let text else { throw .missing(name) }
        guard let json = try ConsoleJSON.parse(text, named: name, refusesRepeated: true) else {
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
