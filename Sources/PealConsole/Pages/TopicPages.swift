internal import PealCore

/// Topics with the number of their devices.
enum TopicPages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "topics", .read, list),
        .app(.post, "topics/delete", .devices, delete),
    ]

    private static let itemsPerPage = 50

    @Sendable private static func list(_ visit: Visit) async throws -> ConsoleAnswer {
        let texts = visit.texts
        let app = try visit.app.key
        let search = visit.query["search"]
        let after = visit.query["after"]
        let topics = try await visit.services.store.read(.heavy) { store -> [Topic] in
            guard let search else {
                return try store.topics(app: app, after: after, limit: itemsPerPage + 1, now: visit.now)
            }
            let page = try store.topics(
                app: app, TopicSearch(containing: search), PageNumber(number: 1, size: itemsPerPage), now: visit.now)
            return try page.items.compactMap { try store.topic(app: app, name: $0.name, now: visit.now) }
        }
        let shown = Array(topics.prefix(itemsPerPage))
        let next = topics.count > itemsPerPage ? shown.last?.name : nil
        var page = Page(visit, texts[.topics], .topics)
        let field = Field(name: "search", label: texts[.search], value: search ?? "", more: " spellcheck=\"false\"")
        page.body = """
            <form class="filter" method="get" action="\(visit.path)" role="search">\(field.html)\
            <button>\(texts[.show])</button></form>
            \(shown.isEmpty && search == nil && after == nil
                ? visit.empty(.noTopicsTitle, .noTopicsText) : table(visit, shown))
            \(visit.pager(next: next))
            """
        return page.answer()
    }

    private static func table(_ visit: Visit, _ topics: [Topic]) -> HTML {
        let texts = visit.texts
        guard !topics.isEmpty else { return "<p class=\"none\">\(texts[.nothingFound])</p>" }
        var table = ListTable(
            caption: texts[.topics], columns: [texts[.topic], texts[.devices], texts[.expires], texts[.actions]],
            numbers: [1])
        table.rows = topics.map { topic in
            [
                "<strong>\(topic.name)</strong>", visit.number(topic.deviceCount), visit.time(topic.expiresAt),
                "<div class=\"row-actions\">\(HTML.when(visit.may(.send), writeLink(visit, topic)))\(HTML.when(visit.may(.devices), deleteForm(visit, topic)))</div>",
            ]
        }
        return table.html
    }

    private static func writeLink(_ visit: Visit, _ topic: Topic) -> HTML {
        """
        <a class="button small" href="\(visit.link("compose"))?topics=\(URLPath.encode(topic.name))">\(visit.texts[.write])</a>
        """
    }

    private static func deleteForm(_ visit: Visit, _ topic: Topic) -> HTML {
        """
        <form method="post" action="\(visit.link("topics", "delete"))" data-confirm="\(visit.texts[.deleteTopicConfirm])">\
        \(visit.formStart)<input type="hidden" name="topic" value="\(topic.name)">\
        <button class="small quiet">\(visit.texts[.delete])</button></form>
        """
    }

    @Sendable private static func delete(_ visit: Visit) async throws -> ConsoleAnswer {
        let name = visit.form.raw("topic")
        try await visit.services.topics.delete(name, app: try visit.app.key, visit.verb)
        return ConsoleAnswer(redirect: visit.link("topics") + "?done=deleted")
    }
}
