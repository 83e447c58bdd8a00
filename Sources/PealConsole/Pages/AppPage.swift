internal import PealCore

/// `/console/apps/{app}/`: the state of the app's routes, what was sent recently, and what needs attention.
enum AppPage {
    static let routes: [ConsoleRoute] = [ConsoleRoute.app(.get, "", nil, show)]

    @Sendable private static func show(_ visit: PageCall) async throws -> ConsoleAnswer {
        let app = try visit.app
        let texts = visit.texts
        var page = Page(visit, app.name, .overview)
        page.actions = HTML.when(
            visit.may(.send), "<a class=\"button primary\" href=\"\(visit.link("compose"))\">\(texts[.compose])</a>")
        guard visit.may(.read) else {
            let words: (Word, Word) = visit.may(.send) ? (.sendOnlyTitle, .sendOnlyText) : (.noReadTitle, .noReadText)
            page.body = visit.empty(words.0, words.1)
            return page.answer()
        }
        let (records, hasDevice) = try await visit.services.store.read { store in
            (
                try store.credentialRecords(app: app.key),
                try !store.devices(app: app.key, DeviceFilter(), after: 0, limit: 1).isEmpty
            )
        }
        let items = try await visit.services.verbs.routes.list(app: app.key, now: visit.now)
        let messages = try await MessagePages.summaries(visit, MessageFilter(), before: nil, limit: 6)
        let isNew = records.isEmpty || messages.isEmpty
        page.body = """
            \(Attention.list(visit, try await AppProblems.attention(visit, app, records, items), isQuiet: isNew))
            \(HTML.when(isNew, steps(visit, records, hasDevice, hasSent: !messages.isEmpty)))
            \(try await traffic(visit, app))
            \(try await AppProblems.reasons(visit, app, from: visit.now - .seconds(hoursShown * 3600)))
            <section id="routes"><h2>\(texts[.ways])</h2>\(ways(visit, items))</section>
            \(recent(visit, Array(messages.prefix(5))))
            """
        return page.answer()
    }

    private static func recent(_ visit: PageCall, _ messages: [MessagePages.Summary]) -> HTML {
        let texts = visit.texts
        guard !messages.isEmpty else {
            return """
                <section><h2>\(texts[.recentMessages])</h2><p class="none">\(texts[.noMessagesText])</p></section>
                """
        }
        return """
            <section><div class="row"><h2>\(texts[.recentMessages])</h2>\
            <a href="\(visit.link("messages"))">\(texts[.allMessages])</a></div>\
            \(MessagePages.table(visit, messages))</section>
            """
    }

    private static let hoursShown: Int64 = 48

    private static func traffic(_ visit: PageCall, _ app: App) async throws -> HTML {
        let from = Traffic.start(hours: hoursShown, now: visit.now)
        let counted = try await visit.services.store.read(.heavy) { store in
            try store.statistics(app: app.key, from: from, to: visit.now + .seconds(1))
        }
        return Traffic(counted, hours: hoursShown, now: visit.now).html(visit, title: visit.texts[.sentPerHour])
    }

    static func tone(_ state: RouteVerbs.Item.State) -> String {
        state == .open ? "good" : state == .stopped ? "bad" : "warn"
    }

    private static func ways(_ visit: PageCall, _ items: [RouteVerbs.Item]) -> HTML {
        let texts = visit.texts
        guard !items.isEmpty else { return "<p class=\"none\">\(texts[.noWays])</p>" }
        var table = ListTable(
            caption: texts[.ways],
            columns: [texts[.network], texts[.state], texts[.pending], texts[.oldest]], numbers: [2])
        for item in items {
            table.rows.append([
                "\(texts.route(item))",
                "\(visit.badge(texts.way(item.state), tone(item.state))) \(HTML.with(item.reason) { "<code>\($0)</code>" })",
                visit.number(item.load.pending), visit.time(item.load.oldestAt),
            ])
        }
        return table.html
    }

    /// What remains to be done before the first push.
    private static func steps(_ visit: PageCall, _ records: [CredentialRecord], _ hasDevice: Bool, hasSent: Bool)
        -> HTML
    {
        let texts = visit.texts
        let isVerified = records.contains { if case .ok = $0.health { true } else { false } }
        let (credentials, compose) = (
            visit.may(.manage) ? visit.link("credentials") : nil, visit.may(.send) ? visit.link("compose") : nil
        )
        let steps: [(Word, Bool, String?)] = [
            (.stepApp, true, nil), (.stepCredential, !records.isEmpty, credentials),
            (.stepVerify, isVerified, credentials), (.stepDevice, hasDevice, visit.link("devices")),
            (.stepSend, hasSent, compose),
        ]
        return """
            <section class="card"><h2>\(texts[.firstSteps])</h2><ol class="steps">\(HTML.each(steps) { step in
                """
                <li class="\(step.1 ? "done" : "open")">\(step.2.map { "<a href=\"\($0)\">\(texts[step.0])</a>" as HTML } ?? "\(texts[step.0])")\
                \(HTML.when(step.1, " <span class=\"hint\">\(texts[.stepDone])</span>"))</li>
                """
            })</ol></section>
            """
    }
}

extension Texts {
    func way(_ state: RouteVerbs.Item.State) -> String {
        switch state {
        case .open: self[.wayOpen]
        case .paused: self[.wayPaused]
        case .probing: self[.wayProbing]
        case .stopped: self[.wayStopped]
        }
    }
}
