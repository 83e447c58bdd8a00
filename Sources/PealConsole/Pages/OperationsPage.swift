internal import PealCore

/// The server: version, subsystems, store, configuration; and signing out everywhere. For the admin.
enum OperationsPage {
    static let routes: [ConsoleRoute] = [ConsoleRoute(.get, "operations", .admin, show)]

    @Sendable private static func show(_ visit: PageCall) async throws -> ConsoleAnswer {
        let texts = visit.texts
        let operations = visit.services.operations
        let subsystems = await operations.readiness()
        var page = Page(visit, texts[.operations], .operations)
        var facts = FactList()
        facts.add(texts[.version], text: visit.services.options.version)
        if let bytes = operations.storeBytes() { facts.add(texts[.storeSize], text: megabytes(bytes, texts)) }
        facts.add(texts[.serverTime], visit.time(visit.now))
        var table = ListTable(caption: texts[.subsystems], columns: [texts[.name], texts[.state]])
        table.rows = subsystems.map { name, failure in
            [
                "\(name)",
                failure.map { "\(visit.badge(texts[.broken], "bad")) \($0)" } ?? visit.badge(texts[.works], "good"),
            ]
        }
        var settings = ListTable(
            caption: texts[.configuration], columns: [texts[.key], texts[.value], texts[.origin]])
        settings.rows = operations.configurationLines().map { line in
            ["<code>\(line.key)</code>", "<code class=\"long\">\(line.value)</code>", "\(line.origin)"]
        }
        page.body = """
            \(facts.html)
            <section><h2>\(texts[.subsystems])</h2>\(table.html)</section>
            <section class="card"><h2>\(texts[.sessions])</h2><p>\(texts[.sessionsText])</p>\
            \(visit.button(texts[.signOutEverywhere], to: "/console/sign-out-everywhere", "danger"))</section>
            <section><h2>\(texts[.backup])</h2><p>\(texts[.backupText])</p><pre>peal backup --to DIR</pre></section>
            \(HTML.when(!settings.rows.isEmpty, "<section><h2>\(texts[.configuration])</h2>\(settings.html)</section>"))
            """
        return page.answer()
    }

    private static func megabytes(_ bytes: Int64, _ texts: Texts) -> String {
        let tenths = bytes / 104_858
        return "\(texts.number(Int(tenths / 10)))\(texts.language == .english ? "." : ",")\(tenths % 10) MiB"
    }
}
