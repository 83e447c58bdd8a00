internal import PealCore

/// Import: devices as JSON lines, with the rows that were refused.
enum ImportPages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "import", .manage) { visit in try await page(visit, nil).answer() },
        .app(.post, "import", .manage, run),
    ]

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
        _ visit: PageCall, _ outcome: Outcome?, error: PealError? = nil
    ) async throws -> Page {
        let texts = visit.texts
        var page = Page(visit, texts[.importing], .importing)
        page.lead = "\(texts[.importLead])"
        page.scripts = ["import.js", "export.js"]
        let field = Field(
            name: "devices", label: texts[.importRows], kind: .area(rows: 10),
            value: outcome == nil ? visit.form.raw("devices") : "", hint: texts[.importHint], error: error?.message,
            isRequired: true, more: " spellcheck=\"false\" class=\"code\" data-drop")
        page.body = """
            \(HTML.with(outcome) { result(visit, $0) })
            <form method="post" action="\(visit.link("import"))" class="card" id="import">\(visit.formStart)\(field.html)\
            <button class="primary">\(texts[.importing])</button></form>
            <section id="import-progress" class="stack" hidden><progress max="1" value="0" aria-label="\(texts[.importing])"></progress>\
            <p role="status" data-text="\(texts[.importResult])"></p>\
            \(ListTable(caption: texts[.refusedRows], columns: [texts[.line], texts[.reason]]).html)</section>
            <details><summary>\(texts[.importExample])</summary><pre>\(example)</pre></details>
            \(try await ExportPages.section(visit))
            """
        return page
    }

    private static let example = """
        {"platform": "ios", "environment": "production", "address": "a1b2…", "user_id": "ann", "topics": ["news"]}
        {"platform": "android", "address": "fcm-token…", "locale": "de", "time_zone": "Europe/Berlin"}
        """

    private static func result(_ visit: PageCall, _ outcome: Outcome) -> HTML {
        let texts = visit.texts
        var table = ListTable(caption: texts[.refusedRows], columns: [texts[.line], texts[.reason]], numbers: [0])
        table.rows = outcome.refused.prefix(200).map { [visit.number($0.line), "\($0.message)"] }
        return """
            <p class="notice \(outcome.refused.isEmpty ? "good" : "warn")" role="status">\
            \(texts(.importResult, texts.number(outcome.created), texts.number(outcome.updated), texts.number(outcome.refused.count)))</p>
            \(HTML.when(!outcome.refused.isEmpty, "<section><h2>\(texts[.refusedRows])</h2>\(table.html)</section>"))
            """
    }

    @Sendable private static func run(_ visit: PageCall) async throws -> ConsoleAnswer {
        // The page's script sends a long import in parts.
        let part = visit.form["first"].flatMap { Int($0) }
        let first = max(0, part ?? 0)
        let lines = visit.form.raw("devices").split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .map { (number: $0.offset + 1 + first, text: String($0.element).trimmed) }.filter { !$0.text.isEmpty }
        guard part != nil || !lines.isEmpty else {
            return try await page(visit, nil, error: .missing("devices")).answer(400)
        }
        var outcome = Outcome()
        for (line, result) in zip(lines, try await register(visit, lines.map(\.text))) {
            outcome.add(result, line: line.number)
        }
        guard part != nil else { return try await page(visit, outcome).answer() }
        return ConsoleAnswer(text: outcome.json.text, type: "application/json")
    }

    /// - Returns: for each line `created`, `updated`, or an object with the reason why it was refused.
    private static func register(_ visit: PageCall, _ lines: [String]) async throws -> [JSON] {
        let reader = ImportedDevice(rules: visit.services.addressRules)
        let drafts = lines.map { line in
            Result { () throws(PealError) -> DeviceRegistration in
                try reader.registration(line, newID: visit.services.randomness.identifier())
            }
        }
        var all: [JSON] = []
        for batch in visit.services.devices.batches(drafts) {
            let reply = try await visit.services.devices.register(
                Array(batch), app: try visit.app.key, visit.verb
            ) { results in
                let items = results.map { result -> JSON in
                    switch result {
                    case .success(let result): .string(result.isNew ? "created" : "updated")
                    case .failure(let error): ["message": .string(error.message)]
                    }
                }
                return Reply(status: 200, .array(items))
            }
            all += (try? JSONParser.parse(reply.body))?.arrayValue ?? []
        }
        return all
    }
}

/// Reads one line of an import.
struct ImportedDevice: Sendable {
    let rules: AddressRules

    /// - Throws: `invalid_json`, `missing_field` or `invalid_field`.
    func registration(_ text: String, newID: DeviceID) throws(PealError) -> DeviceRegistration {
        guard let json = try? JSONParser.parse(text), json.objectValue != nil else {
            throw PealError(.invalidJSON, "the line is not a JSON object")
        }
        guard let name = json["platform"]?.stringValue, let platform = Platform(rawValue: name) else {
            throw .invalid(
                "platform", "platform must be one of \(Platform.addressable.map(\.rawValue).joined(separator: ", "))")
        }
        let environment = json["environment"]?.stringValue.flatMap { Environment(alias: $0) } ?? .production
        guard let given = json["address"] else { throw .missing("address") }
        let address = try rules.address(given, platform: platform, environment: environment)
        var registration = DeviceRegistration(id: newID, address: address)
        if let text = json["id"]?.stringValue {
            guard let id = DeviceID(text) else { throw .invalid("id", "id must be a UUID") }
            registration.id = id
        }
        registration.userID = try word(json, "user_id", max: Limits.userIDBytesMax)
        registration.locale = try word(json, "locale", max: Limits.localeCharactersMax)
        registration.timeZone = try word(json, "time_zone", max: Limits.timeZoneCharactersMax)
        try read(json, into: &registration.detail)
        if let topics = json["topics"]?.arrayValue {
            guard topics.count <= Limits.topicsPerDeviceMax,
                topics.allSatisfy({ isName($0.stringValue, max: Limits.topicBytesMax) })
            else { throw .invalid("topics", "topics must be a list of names") }
            registration.topics = topics.compactMap(\.stringValue)
        }
        registration.isInteractive = Interactivity.isInteractive(
            platform: platform, osVersion: registration.detail.osVersion)
        return registration
    }

    private func read(_ json: JSON, into detail: inout DeviceDetail) throws(PealError) {
        detail.osVersion = try word(json, "os_version", max: Limits.nameCharactersMax)
        detail.appVersion = try word(json, "app_version", max: Limits.nameCharactersMax)
        detail.alias = try word(json, "alias", max: Limits.nameCharactersMax)
        detail.model = try word(json, "model", max: Limits.nameCharactersMax)
        detail.manufacturer = try word(json, "manufacturer", max: Limits.nameCharactersMax)
        detail.vendorOS = try word(json, "vendor_os", max: Limits.nameCharactersMax)
        guard let attributes = json["attributes"]?.objectValue else { return }
        guard JSON.object(attributes).bytes.count <= Limits.attributesBytesMax else {
            throw .invalid("attributes", "attributes may have at most \(Limits.attributesBytesMax) bytes")
        }
        detail.attributes = attributes
    }

    private func word(_ json: JSON, _ name: String, max: Int) throws(PealError) -> String? {
        guard let value = json[name], !value.isNull else { return nil }
        guard isName(value.stringValue, max: max) else {
            throw .invalid(name, "\(name) must be a text without control characters")
        }
        return value.stringValue
    }

    private func isName(_ text: String?, max: Int) -> Bool {
        guard let text, !text.isEmpty, text.utf8.count <= max else { return false }
        return !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}
