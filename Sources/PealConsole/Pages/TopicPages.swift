internal import PealCore

/// Topics with the number of their devices.
enum TopicPages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "topics", .read, list),
        .app(.get, "topics/:name", .read, show),
        .app(.post, "topics", .devices, delete).confirming(.deleteTopicConfirm),
    ]

    private static let itemsPerPage = 25
    /// Larger numbers are estimates: counting a million subscriptions would take too long for a page.
    private static let exactMax = 4000

    private struct Item: Sendable {
        let topic: TopicEntry
        let devices: Int
    }

    @Sendable private static func list(_ visit: PageCall) async throws -> ConsoleAnswer {
        let texts = visit.texts
        let app = try visit.app.key
        let search = visit.query["search"]
        let number = min(100_000, max(1, visit.query["after"].flatMap { Int($0) } ?? 1))
        let found = try await visit.services.store.read(.heavy) { store in
            let page = try store.topics(
                app: app, TopicSearch(containing: search), PageNumber(number: number, size: itemsPerPage),
                now: visit.now)
            let items = try page.items.map { topic in
                var audience = Audience()
                audience.topics = [topic.name]
                let estimate = try store.audienceEstimate(app: app, audience, environment: nil, now: visit.now)
                return Item(topic: topic, devices: estimate.values.reduce(0, +))
            }
            return ResultPage(items: items, total: page.total)
        }
        let next = found.total > number * itemsPerPage ? String(number + 1) : nil
        var page = Page(visit, texts[.topics], .topics)
        let field = Field(name: "search", label: texts[.search], value: search ?? "", more: " spellcheck=\"false\"")
        page.body = """
            <form class="filter" method="get" action="\(visit.path)" role="search">\(field.html)\
            <button>\(texts[.show])</button></form>
            \(found.items.isEmpty && search == nil && number == 1
                ? visit.empty(.noTopicsTitle, .noTopicsText) : table(visit, found.items))
            \(visit.pager(next: next))
            """
        return page.answer()
    }

    private static func table(_ visit: PageCall, _ items: [Item]) -> HTML {
        let texts = visit.texts
        guard !items.isEmpty else { return "<p class=\"none\">\(texts[.nothingFound])</p>" }
        var table = ListTable(
            caption: texts[.topics], columns: [texts[.topic], texts[.devices], texts[.expires], texts[.actions]],
            numbers: [1])
        table.rows = items.map { item in
            let topic = item.topic
            let about = item.devices > exactMax ? "≈ " : ""
            return [
                "<a class=\"title\" href=\"\(visit.link("topics", topic.name))\">\(topic.name)</a>",
                "\(about)\(visit.number(item.devices))" as HTML,
                visit.time(topic.expiresAt),
                "<div class=\"row-actions\">\(HTML.when(visit.may(.send), writeLink(visit, topic)))\(HTML.when(visit.may(.devices), deleteForm(visit, topic)))</div>",
            ]
        }
        return table.html
    }

    private static let daysShown = 30

    /// One topic, and how it grew.
    @Sendable private static func show(_ visit: PageCall) async throws -> ConsoleAnswer {
        let texts = visit.texts
        let (app, name) = (try visit.app.key, visit.parameter("name"))
        let answer = try await visit.console.growths.growth(app: app, topic: name, days: daysShown)
        var page = Page(visit, name, .topics)
        page.trail = [(texts[.topics], visit.link("topics"))]
        if visit.may(.send) {
            let link = "\(visit.link("compose"))?topics=\(PercentCoding.encode(Form.listed(name)))"
            page.actions = "<a class=\"button primary\" href=\"\(link)\">\(texts[.write])</a>"
        }
        switch answer {
        case .counted(let count): page.body = growth(visit, count)
        case .counting(let about):
            var facts = FactList()
            facts.add(texts[.devices], "≈ \(visit.number(about))")
            page.body = """
                \(facts.html)
                <section class="card"><h2>\(texts[.growth])</h2>\(visit.pending(.countingTopic))</section>
                """
        case .unknown: throw PealError.notFound("topic")
        }
        return page.answer()
    }

    private static func growth(_ visit: PageCall, _ count: GrowthCounts.Count) -> HTML {
        let texts = visit.texts
        let days = count.growth.days
        var facts = FactList()
        facts.add(texts[.devices], visit.number(count.topic.deviceCount))
        facts.add(texts[.joinedLately], visit.number(days.reduce(0) { $0 + $1.joined }))
        if let end = count.topic.expiresAt { facts.add(texts[.expires], visit.time(end)) }
        if count.topic.deviceCount >= GrowthCounts.directMax { facts.add(texts[.countedAt], visit.time(count.at)) }
        return """
            \(facts.html)
            <section class="card"><h2>\(texts[.growth])</h2>\(GrowthChart(days: days).html(visit))
            <p class="hint">\(texts[.growthHint])</p></section>
            """
    }

    private static func writeLink(_ visit: PageCall, _ topic: TopicEntry) -> HTML {
        """
        <a class="button small" href="\(visit.link("compose"))?topics=\(PercentCoding.encode(Form.listed(topic.name)))">\(visit.texts[.write])</a>
        """
    }

    private static func deleteForm(_ visit: PageCall, _ topic: TopicEntry) -> HTML {
        """
        <form method="post" action="\(visit.link("topics"))" data-confirm="\(visit.texts[.deleteTopicConfirm])">\
        \(visit.askingFormStart)<input type="hidden" name="topic" value="\(topic.name)">\
        <button class="small quiet">\(visit.texts[.delete])</button></form>
        """
    }

    @Sendable private static func delete(_ visit: PageCall) async throws -> ConsoleAnswer {
        let name = visit.form.raw("topic")
        try await visit.services.verbs.topics.delete(name, app: try visit.app.key, visit.verb)
        return ConsoleAnswer(redirect: visit.link("topics") + "?done=deleted")
    }
}
