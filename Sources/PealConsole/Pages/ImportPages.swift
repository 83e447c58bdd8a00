internal import PealCore

/// Import: devices as JSON lines, with the rows that were refused.
enum ImportPages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "import", .manage) { call in try await page(call, nil).answer() },
        .app(.post, "import", .manage, run).redrawing { call, refusal in
            try await page(call, nil, error: refusal).answer()
        },
    ]

    /// How many of the refused rows a page lists. The page's script imports more rows than that itself, and offers all
    /// refused ones as a file.
    private static let rowsShown = 200

    private struct Outcome {
        var created = 0
        var updated = 0
        var refused: [(line: Int, message: String)] = []

        mutating func add(_ result: JSON, line: Int) {
            switch result.stringValue {
            case "created": created += 1
            case "updated": updated += 1
            default: refused.append((line, result["message"]?.stringValue ?? ""))
            }
        }

        var json: JSON {
            [
                "created": .integer(created), "updated": .integer(updated),
                "refused": .array(refused.map { ["line": .integer($0.line), "message": .string($0.message)] }),
            ]
        }
    }

    private static func page(
        _ call: PageCall, _ outcome: Outcome?, error: PealError? = nil
    ) async throws -> Page {
        let texts = call.texts
        var page = Page(call, texts[.importing], .importing)
        page.lead = "\(texts[.importLead])"
        page.scripts = ["import.js", "export.js"]
        let field = Field(
            name: "devices", label: texts[.importRows], kind: .area(rows: 10),
            value: outcome == nil ? call.form.raw("devices") : "", hint: texts[.importHint],
            error: error.map(texts.message),
            isRequired: true, more: " spellcheck=\"false\" class=\"code\" data-drop")
        page.body = """
            \(HTML.with(outcome) { result(call, $0) })
            <form method="post" action="\(call.link("import"))" class="card" id="import" \
            data-keep\(if: call.isPosted && outcome == nil, " data-sent") data-ended="\(texts[.sessionEnded])" \
            data-rows="\(rowsShown)" data-failed="\(texts[.importFailed])">\(call.formStart)\(field.html)\
            <button class="primary">\(texts[.importing])</button></form>
            <section id="import-progress" class="stack" hidden><progress max="1" value="0" aria-label="\(texts[.importing])"></progress>\
            <p role="status" data-text="\(texts[.importResult])"></p>\
            <div class="row" hidden><p class="hint" data-text="\(texts[.onlyFirstOf])"></p>\
            <a class="button" download="refused.csv">\(texts[.downloadRefused])</a></div>\
            \(ListTable(caption: texts[.refusedRows], columns: [texts[.line], texts[.reason]]).html)</section>
            <details><summary>\(texts[.importExample])</summary><pre>\(example)</pre></details>
            \(try await ExportPages.section(call))
            """
        return page
    }

    private static let example = """
        {"platform": "ios", "environment": "production", "address": "a1b2…", "user_id": "ann", "topics": ["news"]}
        {"platform": "android", "address": "fcm-token…", "locale": "de", "time_zone": "Europe/Berlin"}
        """

    private static func result(_ call: PageCall, _ outcome: Outcome) -> HTML {
        let texts = call.texts
        var table = ListTable(caption: texts[.refusedRows], columns: [texts[.line], texts[.reason]], numbers: [0])
        table.rows = outcome.refused.prefix(rowsShown).map { [call.number($0.line), "\($0.message)"] }
        let cut = call.cut(rowsShown, of: outcome.refused.count)
        let list: HTML = "<section><h2>\(texts[.refusedRows])</h2>\(table.html)\(cut)</section>"
        return """
            <p class="notice \(outcome.refused.isEmpty ? "good" : "warn")" role="status">\
            \(texts(.importResult, texts.number(outcome.created), texts.number(outcome.updated), texts.number(outcome.refused.count)))</p>
            \(HTML.when(!outcome.refused.isEmpty, list))
            """
    }

    @Sendable private static func run(_ call: PageCall) async throws -> ConsoleAnswer {
        // The page's script sends a long import in parts.
        let part = call.form["first"].flatMap { Int($0) }
        let first = min(max(0, part ?? 0), 1_000_000_000)
        let lines = call.form.raw("devices").split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .map { (number: $0.offset + 1 + first, text: String($0.element).trimmed) }.filter { !$0.text.isEmpty }
        guard part != nil || !lines.isEmpty else {
            return try await page(call, nil, error: .missing("devices")).answer(400)
        }
        var outcome = Outcome()
        for (line, result) in zip(lines, try await register(call, lines.map(\.text))) {
            outcome.add(result, line: line.number)
        }
        guard part != nil else { return try await page(call, outcome).answer() }
        return ConsoleAnswer(text: outcome.json.text, type: "application/json")
    }

    /// - Returns: for each line `created`, `updated`, or an object with the reason why it was refused.
    private static func register(_ call: PageCall, _ lines: [String]) async throws -> [JSON] {
        let reader = ImportedDevice(native: call.services.native, now: call.now)
        let drafts = lines.map { line in
            Result { () throws(PealError) -> DeviceRegistration in
                try reader.registration(line, newID: call.services.randomness.identifier())
            }
        }
        var all: [JSON] = []
        for batch in call.services.verbs.devices.batches(drafts) {
            let reply = try await call.services.verbs.devices.register(
                Array(batch), app: try call.app.key, call.verb
            ) { results in
                let items = results.map { result -> JSON in
                    switch result {
                    case .success(let result): .string(result.isNew ? "created" : "updated")
                    case .failure(let error): ["message": .string(call.texts.message(error))]
                    }
                }
                return Reply(status: 200, .array(items))
            }
            all += (try? JSONParser.parse(reply.body))?.arrayValue ?? []
        }
        return all
    }
}

/// Reads one line of an import: a device as the native API has it, or as an export writes it.
struct ImportedDevice: Sendable {
    let native: NativeReader
    let now: Timestamp

    /// The members that an export adds.
    private static let exported: Set = ["state", "registered_at", "retired_at", "retired_reason"]

    /// - Throws: `invalid_json`, and what the API refuses a device with.
    func registration(_ text: String, newID: DeviceID) throws(PealError) -> DeviceRegistration {
        let json = try ConsoleJSON.parse(text, named: "the line", refusesRepeated: true)
        guard let members = json?.objectValue else {
            throw PealError(.invalidJSON, "the line is not a JSON object")
        }
        guard members["state"] != "retired" else {
            throw .invalid("state", "the device is retired, because its address is dead")
        }
        let given = members.pairs.filter { !Self.exported.contains($0) && !$1.isNull && $1 != "" }
        return try native.device(.object(JSON.Members(given)), newID, now)
    }
}
