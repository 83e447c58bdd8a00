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

    @Sendable private static func list(_ call: PageCall) async throws -> ConsoleAnswer {
        let texts = call.texts
        let app = try call.app.key
        let search = call.query["search"]
        let number = min(100_000, max(1, call.query["after"].flatMap { Int($0) } ?? 1))
        let found = try await call.services.store.read(.heavy) { store in
            let page = try store.topics(
                app: app, TopicSearch(containing: search), PageNumber(number: number, size: itemsPerPage),
                now: call.now)
            let items = try page.items.map { topic in
                var audience = Audience()
                audience.topics = [topic.name]
                let estimate = try store.audienceEstimate(app: app, audience, environment: nil, now: call.now)
                return Item(topic: topic, devices: estimate.values.reduce(0, +))
            }
            return ResultPage(items: items, total: page.total)
        }
        let next = found.total > number * itemsPerPage ? String(number + 1) : nil
        var page = Page(call, texts[.topics], .topics)
        let field = Field(name: "search", label: texts[.search], value: search ?? "", more: " spellcheck=\"false\"")
        page.body = """
            <form class="filter" method="get" action="\(call.path)" role="search">\(field.html)\
            <button>\(texts[.show])</button></form>
            \(found.items.isEmpty && search == nil && number == 1
                ? call.empty(.noTopicsTitle, .noTopicsText) : table(call, found.items))
            \(call.pager(next: next))
            """
        return page.answer()
    }

    private static func table(_ call: PageCall, _ items: [Item]) -> HTML {
        let texts = call.texts
        guard !items.isEmpty else { return "<p class=\"none\">\(texts[.nothingFound])</p>" }
        var table = ListTable(
            caption: texts[.topics], columns: [texts[.topic], texts[.devices], texts[.expires], texts[.actions]],
            numbers: [1])
        table.rows = items.map { item in
            let topic = item.topic
            let about = item.devices > exactMax ? "≈ " : ""
            return [
                "<a class=\"title\" href=\"\(call.link("topics", topic.name))\">\(topic.name)</a>",
                "\(about)\(call.number(item.devices))" as HTML,
                call.time(topic.expiresAt),
                "<div class=\"row-actions\">\(HTML.when(call.may(.send), writeLink(call, topic)))\(HTML.when(call.may(.devices), deleteForm(call, topic)))</div>",
            ]
        }
        return table.html
    }

    private static let daysShown = 30

    /// One topic, and how it grew.
    @Sendable private static func show(_ call: PageCall) async throws -> ConsoleAnswer {
        let texts = call.texts
        let (app, name) = (try call.app.key, call.parameter("name"))
        let answer = try await call.console.growths.growth(app: app, topic: name, days: daysShown)
        var page = Page(call, name, .topics)
        page.trail = [(texts[.topics], call.link("topics"))]
        if call.may(.send) {
            let link = "\(call.link("compose"))?topics=\(PercentCoding.encode(Form.listed(name)))"
            page.actions = "<a class=\"button primary\" href=\"\(link)\">\(texts[.write])</a>"
        }
        switch answer {
        case .counted(let count): page.body = growth(call, count)
        case .counting(let about):
            var facts = FactList()
            facts.add(texts[.devices], "≈ \(call.number(about))")
            page.body = """
                \(facts.html)
                <section class="card"><h2>\(texts[.growth])</h2>\(call.pending(.countingTopic))</section>
                """
        case .unknown: throw PealError.notFound("topic")
        }
        return page.answer()
    }

    private static func growth(_ call: PageCall, _ count: GrowthCounts.Count) -> HTML {
        let texts = call.texts
        let days = count.growth.days
        var facts = FactList()
        facts.add(texts[.devices], call.number(count.topic.deviceCount))
        facts.add(texts[.joinedLately], call.number(days.reduce(0) { $0 + $1.joined }))
        if let end = count.topic.expiresAt { facts.add(texts[.expires], call.time(end)) }
        if count.topic.deviceCount >= GrowthCounts.directMax { facts.add(texts[.countedAt], call.time(count.at)) }
        return """
            \(facts.html)
            <section class="card"><h2>\(texts[.growth])</h2>\(GrowthChart(days: days).html(call))
            <p class="hint">\(texts[.growthHint])</p></section>
            """
    }

    private static func writeLink(_ call: PageCall, _ topic: TopicEntry) -> HTML {
        """
        <a class="button small" href="\(call.link("compose"))?topics=\(PercentCoding.encode(Form.listed(topic.name)))">\(call.texts[.write])</a>
        """
    }

    private static func deleteForm(_ call: PageCall, _ topic: TopicEntry) -> HTML {
        """
        <form method="post" action="\(call.link("topics"))" data-confirm="\(call.texts[.deleteTopicConfirm])">\
        \(call.askingFormStart)<input type="hidden" name="topic" value="\(topic.name)">\
        <button class="small quiet">\(call.texts[.delete])</button></form>
        """
    }

    @Sendable private static func delete(_ call: PageCall) async throws -> ConsoleAnswer {
        let name = call.form.raw("topic")
        try await call.services.verbs.topics.delete(name, app: try call.app.key, call.verb)
        return ConsoleAnswer(redirect: call.link("topics") + "?done=deleted")
    }
}
