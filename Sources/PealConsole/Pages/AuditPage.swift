internal import PealCore

/// Who did what in the app, newest first.
enum AuditPage {
    static let routes: [ConsoleRoute] = [.app(.get, "audit", .manage, show)]

    private static let itemsPerPage = 50

    @Sendable private static func show(_ visit: Visit) async throws -> ConsoleAnswer {
        let texts = visit.texts
        let app = try visit.app.key
        let before = visit.query["after"].flatMap { Int64($0) }
        let entries = try await visit.services.store.write(.rest) { store in
            try store.auditEntries(app: app, before: before, limit: itemsPerPage + 1)
        }
        let shown = Array(entries.prefix(itemsPerPage))
        var page = Page(visit, texts[.audit], .audit)
        var table = ListTable(
            caption: texts[.audit], columns: [texts[.at], texts[.actor], texts[.action], texts[.object]])
        table.rows = shown.map { item in
            [
                visit.time(item.entry.at), "<code>\(item.entry.actor)</code>", "\(item.entry.action)",
                "\(item.entry.object)",
            ]
        }
        let next = entries.count > itemsPerPage ? shown.last.map { String($0.number) } : nil
        page.body =
            shown.isEmpty ? visit.empty(.noAuditTitle, .noAuditText) : "\(table.html)\(visit.pager(next: next))"
        return page.answer()
    }
}
