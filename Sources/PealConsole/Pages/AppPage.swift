internal import PealCore

/// `/console/apps/{app}/`: the state of the app's routes, what was sent recently, and what needs attention.
enum AppPage {
    static let routes: [ConsoleRoute] = [ConsoleRoute.app(.get, "", nil, show)]

    @Sendable private static func show(_ call: PageCall) async throws -> ConsoleAnswer {
        let app = try call.app
        let texts = call.texts
        var page = Page(call, app.name, .overview)
        page.actions = call.composeLink
        guard call.may(.read) else {
            let words: (Word, Word) = call.may(.send) ? (.sendOnlyTitle, .sendOnlyText) : (.noReadTitle, .noReadText)
            page.body = call.empty(words.0, words.1)
            return page.answer()
        }
        let (records, hasDevice) = try await call.list { store, more in
            (
                try store.credentialRecords(app: app.key),
                try !store.devices(app: app.key, DeviceFilter(), after: 0, limit: 1 + more).isEmpty
            )
        }
        let items = try await call.services.verbs.routes.list(app: app.key, now: call.now)
        let messages = try await MessagePages.summaries(call, MessageFilter(), before: nil, limit: 6)
        let isNew = records.isEmpty || messages.isEmpty
        page.body = """
            \(Attention.list(call, try await AppProblems.attention(call, app, records, items), isQuiet: isNew))
            \(HTML.when(isNew, steps(call, records, hasDevice, hasSent: !messages.isEmpty)))
            \(try await traffic(call, app))
            \(try await AppProblems.reasons(call, app, from: call.now - .seconds(hoursShown * 3600)))
            <section id="routes"><h2>\(texts[.ways])</h2>\(ways(call, items))</section>
            \(recent(call, Array(messages.prefix(5))))
            """
        return page.answer()
    }

    private static func recent(_ call: PageCall, _ messages: [MessagePages.Summary]) -> HTML {
        let texts = call.texts
        guard !messages.isEmpty else {
            return """
                <section><h2>\(texts[.recentMessages])</h2><p class="none">\(texts[.noMessagesText])</p></section>
                """
        }
        return """
            <section><div class="row"><h2>\(texts[.recentMessages])</h2>\
            <a href="\(call.link("messages"))">\(texts[.allMessages])</a></div>\
            \(MessagePages.table(call, messages))</section>
            """
    }

    private static let hoursShown: Int64 = 48

    private static func traffic(_ call: PageCall, _ app: App) async throws -> HTML {
        let from = Traffic.start(hours: hoursShown, now: call.now)
        let counted = try await call.services.store.read(.heavy) { store in
            try store.statistics(app: app.key, from: from, to: call.now + .seconds(1))
        }
        return Traffic(counted, hours: hoursShown, now: call.now).html(call, title: call.texts[.sentPerHour])
    }

    static func tone(_ state: RouteGate.Status) -> String {
        state == .open ? "good" : state == .stopped ? "bad" : "warn"
    }

    private static func ways(_ call: PageCall, _ items: [RouteVerbs.Item]) -> HTML {
        let texts = call.texts
        guard !items.isEmpty else { return "<p class=\"none\">\(texts[.noWays])</p>" }
        var table = ListTable(
            caption: texts[.ways],
            columns: [texts[.network], texts[.state], texts[.pending], texts[.oldest]], numbers: [2])
        for item in items {
            table.rows.append([
                "\(texts.route(item))",
                "\(call.badge(texts.way(item.state), tone(item.state))) \(HTML.with(item.reason) { "<code>\($0)</code>" })",
                call.number(item.load.pending), call.time(item.load.oldestAt),
            ])
        }
        return table.html
    }

    /// What remains to be done before the first push.
    private static func steps(_ call: PageCall, _ records: [CredentialRecord], _ hasDevice: Bool, hasSent: Bool)
        -> HTML
    {
        let texts = call.texts
        let isVerified = records.contains { if case .ok = $0.health { true } else { false } }
        let (credentials, compose) = (
            call.may(.manage) ? call.link("credentials") : nil, call.may(.send) ? call.link("compose") : nil
        )
        let steps: [(Word, Bool, String?)] = [
            (.stepApp, true, nil), (.stepCredential, !records.isEmpty, credentials),
            (.stepVerify, isVerified, credentials), (.stepDevice, hasDevice, call.link("devices")),
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
    func way(_ state: RouteGate.Status) -> String {
        switch state {
        case .open: self[.wayOpen]
        case .paused: self[.wayPaused]
        case .probing: self[.wayProbing]
        case .stopped: self[.wayStopped]
        }
    }
}
