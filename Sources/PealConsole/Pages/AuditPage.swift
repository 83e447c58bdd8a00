internal import PealCore

/// The audit log of the app, newest first, including refusals.
enum AuditPage {
    static let routes: [ConsoleRoute] = [.app(.get, "audit", .manage, show)]

    private static let itemsPerPage = 50

    @Sendable private static func show(_ call: PageCall) async throws -> ConsoleAnswer {
        let texts = call.texts
        let filter = AuditFilter(app: try call.app.id, actor: call.query["actor"], action: call.query["action"])
        let before = call.query["after"].flatMap { Int64($0) }
        let rows = call.shown(
            try await call.services.verbs.audit.rows(filter, before: before, limit: itemsPerPage + 1))
        let shown = Array(rows.prefix(itemsPerPage))
        var page = Page(call, texts[.audit], .audit)
        let fields = [
            Field(
                name: "actor", label: texts[.actor], value: filter.actor ?? "", hint: texts[.actorHint],
                more: " spellcheck=\"false\""),
            Field(
                name: "action", label: texts[.action], value: filter.action ?? "", hint: texts[.actionHint],
                more: " spellcheck=\"false\""),
        ]
        let isFiltered = filter.actor != nil || filter.action != nil
        let next = rows.count > itemsPerPage ? shown.last.map { String($0.number) } : nil
        page.body = """
            <form class="filter" method="get" action="\(call.path)">\(fields.map(\.html))<button>\(texts[.show])</button></form>
            \(shown.isEmpty && !isFiltered ? call.empty(.noAuditTitle, .noAuditText) : table(call, shown))
            \(call.pager(next: next))
            """
        return page.answer()
    }

    private static func table(_ call: PageCall, _ rows: [AuditRow]) -> HTML {
        let texts = call.texts
        guard !rows.isEmpty else { return "<p class=\"none\">\(texts[.nothingFound])</p>" }
        var table = ListTable(
            caption: texts[.audit],
            columns: [texts[.at], texts[.actor], texts[.action], texts[.object], texts[.address]])
        table.rows = rows.map { row in
            let entry = row.entry
            let refused = entry.outcome == .refused ? " \(call.badge(texts[.refused], "bad"))" as HTML : .empty
            return [
                call.time(entry.at), "<span title=\"\(entry.actor.id)\">\(entry.actor.name ?? entry.actor.id)</span>",
                "\(entry.action)\(refused)", "<span class=\"object\">\(entry.object)</span>", "\(entry.address ?? "–")",
            ]
        }
        return table.html
    }
}
