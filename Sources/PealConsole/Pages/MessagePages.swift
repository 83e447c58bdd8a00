internal import PealCore

/// Messages: the list, one message, and its states.
enum MessagePages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "messages", .read, list),
        .app(.get, "messages/:id", .read) { try await page($0).answer() },
        .app(.post, "messages/:id/pause", .send) { try await move($0, "paused") { $0.pause } },
        .app(.post, "messages/:id/resume", .send) { try await move($0, "resumed") { $0.resume } },
        .app(.post, "messages/:id/cancel", .send) { try await move($0, "cancelled") { $0.cancel } }
            .confirming(.cancelConfirm),
        .app(.post, "messages/:id/rate", .send, changeRate),
        .app(.get, "calendar", .read, calendar),
    ]

    private static let itemsPerPage = 25

    /// One message in a list.
    struct Summary: Sendable {
        let report: MessageReport
        let title: String
        let audience: Audience?
        var isTest = false
        var message: Message { report.message }
    }

    static func summaries(
        _ visit: PageCall, _ filter: MessageFilter, before: MessageID?, limit: Int
    ) async throws -> [Summary] {
        let app = try visit.app.key
        return try await visit.services.store.list(.heavy) { store, more in
            try store.messages(app: app, filter, before: before, limit: limit + more).map { message in
                let report = try store.report(app: app, id: message.id)
                let draft = try store.draft(app: app, id: message.id)
                return Summary(
                    report: report ?? MessageReport(message: message, platforms: [:]),
                    title: draft?.content.shownTitle ?? "", audience: draft?.audience, isTest: draft?.isTest ?? false)
            }
        }
    }

    @Sendable private static func list(_ visit: PageCall) async throws -> ConsoleAnswer {
        let texts = visit.texts
        let state = visit.query["state"].flatMap { Message.State(name: $0) }
        var filter = MessageFilter(state: state, campaignID: visit.query["campaign_id"])
        filter.text = visit.query["text"]
        let before = visit.query["after"].flatMap { MessageID($0) }
        var items = try await summaries(visit, filter, before: before, limit: itemsPerPage + 1)
        let next = items.count > itemsPerPage ? items[itemsPerPage - 1].message.id.description : nil
        items = Array(items.prefix(itemsPerPage))
        var page = Page(visit, texts[.messages], .messages)
        if visit.may(.send) {
            page.actions = "<a class=\"button primary\" href=\"\(visit.link("compose"))\">\(texts[.compose])</a>"
        }
        let states = [("", texts[.allStates])] + Message.State.allCases.map { ($0.name, texts.state($0)) }
        let choice = Field(
            name: "state", label: texts[.state], kind: .choice(states), value: visit.query["state"] ?? "")
        let campaign = Field(
            name: "campaign_id", label: texts[.campaign], value: visit.query["campaign_id"] ?? "",
            more: " maxlength=\"255\"")
        let search = Field(name: "text", label: texts[.search], value: filter.text ?? "", more: " maxlength=\"255\"")
        let isFiltered = state != nil || filter.campaignID != nil || filter.text != nil
        page.body = """
            <form class="filter" method="get" action="\(visit.path)">\(search.html)\(choice.html)\(campaign.html)\
            <button>\(texts[.show])</button></form>
            \(items.isEmpty && !isFiltered && before == nil
                ? visit.empty(.noMessagesTitle, .noMessagesText, action: page.actions) : table(visit, items))
            \(visit.pager(next: next))
            """
        return page.answer()
    }

    static func table(_ visit: PageCall, _ items: [Summary]) -> HTML {
        let texts = visit.texts
        guard !items.isEmpty else { return "<p class=\"none\">\(texts[.nothingFound])</p>" }
        var table = ListTable(
            caption: texts[.messages],
            columns: [
                texts[.message], texts[.state], texts[.audience], texts[.devices], texts[.accepted], texts[.made],
            ], numbers: [3, 4])
        table.rows = items.map { item in
            let total = item.report.total
            let title = item.title.isEmpty ? texts[.untitled] : item.title
            return [
                """
                <a class="title" href="\(visit.link("messages", item.message.id.description))">\(title)</a>\
                \(HTML.when(item.isTest, " <span class=\"tag\">\(texts[.test])</span>"))\
                \(HTML.with(item.message.campaignID) { " <span class=\"hint\">\($0)</span>" })
                """,
                visit.badge(item.message.state),
                "<span class=\"audience\">\(item.audience.map { texts.audience($0) } ?? "")</span>",
                total.devices == 0 && item.message.cutoffAt == nil
                    ? "<span class=\"none\">–</span>" : visit.number(total.devices),
                "\(total.devices == 0 ? "–" : texts.percent(total.accepted, of: total.devices))",
                visit.time(item.message.createdAt),
            ]
        }
        return table.html
    }

    private static func page(_ visit: PageCall, error: PealError? = nil) async throws -> Page {
        let (app, id): (AppKey, MessageID) = (try visit.app.key, try visit.id("id", of: "message"))
        let (report, draft) = try await visit.services.store.read { store in
            (try store.report(app: app, id: id), try store.draft(app: app, id: id))
        }
        guard let report else { throw PealError.notFound("message") }
        let texts = visit.texts
        let shownTitle = draft?.content.shownTitle ?? ""
        var page = Page(visit, shownTitle.isEmpty ? texts[.untitled] : shownTitle, .messages)
        page.trail = [(texts[.messages], visit.link("messages"))]
        page.scripts = ["message.js"]
        page.actions = actions(visit, report.message)
        let isLive = !report.message.state.isFinal
        page.body = """
            <div id="live" class="stack"\(if: isLive, " data-events=\"\(visit.link("messages", id.description, "events"))\" data-stale=\"\(texts[.notUpdated])\"")>
            \(MessageLive.fragment(visit, report, samples: try await MessageLive.samples(visit, report)))
            </div>
            \(HTML.when(isLive, "<p class=\"hidden\" id=\"said\" role=\"status\"></p>"))
            \(HTML.when(isLive, MessageLive.pace(visit)))
            \(rate(visit, report.message, draft, error))
            <div class="columns">
            <section><h2>\(texts[.content])</h2>\(draft.map { content(visit, $0) } ?? .empty)</section>
            <section><h2>\(texts[.details])</h2>\(details(visit, report, draft))</section>
            </div>
            \(try await MessageExplanation.section(visit, id))
            """
        return page
    }

    /// The actions available in the message's state.
    static func actions(_ visit: PageCall, _ message: Message) -> HTML {
        guard visit.may(.send) else { return .empty }
        let texts = visit.texts
        let path = visit.link("messages", message.id.description)
        let mayPause = message.windowUntil == nil
        var buttons: [HTML] = []
        if message.state == .paused {
            buttons.append(visit.button(texts[.resume], to: "\(path)/resume", "primary"))
        } else if !message.state.isFinal, mayPause {
            buttons.append(visit.button(texts[.pause], to: "\(path)/pause"))
        }
        if !message.state.isFinal {
            buttons.append(
                visit.button(texts[.cancelMessage], to: "\(path)/cancel", "danger", confirm: texts[.cancelConfirm]))
        }
        buttons.append(
            "<a class=\"button\" href=\"\(visit.link("compose"))?from=\(message.id.description)\">\(texts[.duplicate])</a>"
        )
        return "\(buttons)"
    }

    private static func content(_ visit: PageCall, _ draft: MessageDraft) -> HTML {
        let texts = visit.texts
        var facts = FactList()
        facts.add(texts[.title], texts.shown(draft.content.title))
        if draft.content.subtitle != nil { facts.add(texts[.subtitle], texts.shown(draft.content.subtitle)) }
        facts.add(texts[.body], texts.shown(draft.content.body))
        facts.add(texts[.image], text: draft.content.imageURL)
        if !draft.content.data.isEmpty {
            facts.add(texts[.data], "<pre>\(JSON.object(draft.content.data).text)</pre>")
        }
        for (platform, own) in draft.content.platforms.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where !own.fields.isEmpty {
            facts.add(texts.platform(platform), "<pre>\(JSON.object(own.fields).text)</pre>")
        }
        return facts.html
    }

    private static func details(_ visit: PageCall, _ report: MessageReport, _ draft: MessageDraft?) -> HTML {
        let texts = visit.texts
        let message = report.message
        var facts = FactList()
        facts.add("ID", "<code>\(message.id.description)</code>")
        if let draft { facts.add(texts[.audience], "\(texts.audience(draft.audience))") }
        facts.add(texts[.campaign], text: message.campaignID)
        facts.add(texts[.sentBy], text: message.dialect.rawValue)
        facts.add(texts[.made], visit.time(message.createdAt))
        if let start = message.startAt { facts.add(texts[.starts], visit.time(start)) }
        if let window = message.windowUntil { facts.add(texts[.windowEnd], visit.time(window)) }
        facts.add(texts[.expires], visit.time(message.expiresAt))
        if let first = message.firstSentAt { facts.add(texts[.firstSent], visit.time(first)) }
        if let ended = message.endedAt { facts.add(texts[.ended], visit.time(ended)) }
        if let rate = draft?.options.ratePerSecond {
            facts.add(texts[.rateLimit], text: texts(.ratePerSecond, texts.number(Int(rate))))
        }
        facts.add(texts[.averageRate], text: averageRate(texts, report))
        if draft?.options.isTransactional == true { facts.add(texts[.quietHours], text: texts[.transactionalShort]) }
        if draft?.options.recipientsTime != nil { facts.add(texts[.timeZone], text: texts[.recipientsTime]) }
        facts.add(texts[.failure], text: message.failure)
        return facts.html
    }

    /// For the whole message, once it has been sent.
    private static func averageRate(_ texts: Texts, _ report: MessageReport) -> String? {
        guard let first = report.message.firstSentAt, let end = report.message.endedAt, end > first else { return nil }
        let sent = report.total.settled - report.total.suppressed - report.total.expired
        let rate = Int64(sent) * 1000 / max(1, (end - first).milliseconds)
        return rate < 1 ? nil : texts(.ratePerSecond, texts.number(Int(rate)))
    }

    /// What limits how fast the message is sent, and a form to change it.
    private static func rate(
        _ visit: PageCall, _ message: Message, _ draft: MessageDraft?, _ error: PealError?
    ) -> HTML {
        let texts = visit.texts
        guard visit.may(.send), !message.state.isFinal, message.windowUntil == nil else { return .empty }
        let field = Field(
            name: "rate_per_second", label: texts[.rateLimit],
            value: visit.form["rate_per_second"] ?? draft?.options.ratePerSecond.map { String($0) } ?? "",
            hint: texts[.rateLimitHint], error: error.map(texts.message),
            more: " inputmode=\"numeric\" autocomplete=\"off\"")
        return """
            <section class="card" id="rate"><h2>\(texts[.pace])</h2>
            <form class="filter" method="post" action="\(visit.link("messages", message.id.description, "rate"))">\
            \(visit.formStart)\(field.html)<button>\(texts[.changeRate])</button></form></section>
            """
    }

    @Sendable private static func changeRate(_ visit: PageCall) async throws -> ConsoleAnswer {
        let (app, id): (AppKey, MessageID) = (try visit.app.key, try visit.id("id", of: "message"))
        let rate: Int64?
        do throws(PealError) {
            rate = try ComposeForm(visit.form).rate()
        } catch {
            guard visit.may(.read) else { throw error }
            return try await page(visit, error: error).answer(400)
        }
        _ = try await visit.services.verbs.messages.change(
            id, app: app, visit.verb, onlyRate: MessageVerbs.RateChange(perSecond: rate)
        ) { draft throws(PealError) in
            draft.options.ratePerSecond = rate
            // The request of another API stays as that API's clients know it.
            guard draft.dialect == "native" else { return }
            draft.source = draft.source.flatMap { ComposeForm.source($0, withRate: rate) }
        }
        return ConsoleAnswer(redirect: visit.link("messages", id.description) + "?done=saved")
    }

    private typealias Step =
        @Sendable (
            MessageID, AppKey, VerbCall, @escaping @Sendable (MessageReport) throws -> Reply
        ) async throws -> Reply

    private static func move(
        _ visit: PageCall, _ notice: String, _ verb: (MessageVerbs) -> Step
    ) async throws -> ConsoleAnswer {
        let (app, id): (AppKey, MessageID) = (try visit.app.key, try visit.id("id", of: "message"))
        _ = try await verb(visit.services.verbs.messages)(id, app, visit.verb) { _ in Reply(status: 200, body: []) }
        return ConsoleAnswer(redirect: visit.link("messages", id.description) + "?done=\(notice)")
    }

    /// Scheduled messages and the latest others, by day.
    @Sendable private static func calendar(_ visit: PageCall) async throws -> ConsoleAnswer {
        let texts = visit.texts
        let app = try visit.app.key
        let all = try await visit.services.store.list(.heavy) { store, _ in
            // The store returns them in the order of their creation.
            let scheduled = try store.messages(app: app, MessageFilter(state: .scheduled), before: nil, limit: 2000)
            let waiting = scheduled.sorted { ($0.startAt ?? $0.createdAt) < ($1.startAt ?? $1.createdAt) }.prefix(100)
            let latest = try store.messages(app: app, MessageFilter(), before: nil, limit: 100)
            return try (Array(waiting) + latest.filter { $0.state != .scheduled }).map { message in
                CalendarEntry(message: message, title: try store.overview(app: app, id: message.id)?.title ?? "")
            }
        }
        let days = Dictionary(grouping: all) { String($0.dayTime.description.prefix(10)) }
        var page = Page(visit, texts[.calendar], .calendar)
        page.lead = "\(texts[.calendarLead])"
        guard !all.isEmpty else {
            page.body = visit.empty(.noMessagesTitle, .noMessagesText)
            return page.answer()
        }
        page.body = HTML.each(days.sorted { $0.key > $1.key }) { day, items in
            """
            <section class="day"><h2><time datetime="\(day)">\(day)</time></h2><ul class="plain">\
            \(HTML.each(items.sorted { $0.dayTime < $1.dayTime }) { entry(visit, $0) })</ul></section>
            """
        }
        return page.answer()
    }

    private static func entry(_ visit: PageCall, _ item: CalendarEntry) -> HTML {
        """
        <li>\(visit.time(item.dayTime)) \(visit.badge(item.message.state)) \
        <a href="\(visit.link("messages", item.message.id.description))">\
        \(item.title.isEmpty ? visit.texts[.untitled] : item.title)</a></li>
        """
    }
}

/// A message in the calendar.
private struct CalendarEntry: Sendable {
    let message: Message
    let title: String

    /// The instant under which it is listed.
    var dayTime: Timestamp { message.startAt ?? message.createdAt }
}

extension Content {
    /// The text that identifies the message to readers; empty without any text.
    var shownTitle: String { headline ?? "" }
}

extension Texts {
    /// A text, or one line for each of its locales.
    func shown(_ text: LocalizedText?) -> HTML {
        switch text {
        case nil: "<span class=\"none\">–</span>"
        case .plain(let plain): "\(plain)"
        case .localized(let texts):
            HTML.each(texts.sorted { $0.key < $1.key }) { locale, text in
                "<p lang=\"\(locale)\"><span class=\"tag\">\(locale)</span> \(text)</p>"
            }
        }
    }

    /// The audience of a message, in a few words.
    func audience(_ audience: Audience) -> String {
        var parts: [String] = []
        if audience.includesAll { parts.append(self[.everybody]) }
        if let topic = audience.topics.first {
            parts.append(
                audience.topics.count == 1
                    ? self(.topicNamed, topic) : self(.topicsNamed, topic, number(audience.topics.count - 1)))
        }
        if let user = audience.users.first {
            parts.append(audience.users.count == 1 ? self(.userNamed, user) : people(audience.users.count))
        }
        let devices = audience.devices.count + audience.identifiers.count
        if devices > 0 { parts.append(self.devices(devices)) }
        if !audience.addresses.isEmpty {
            parts.append(count(audience.addresses.count, .addressCount, .addressesCount))
        }
        if let condition = audience.condition { parts.append(self.condition(condition)) }
        var text = parts.joined(separator: " + ")
        if let topic = audience.excludedTopics.first { text += " " + self(.exceptTopic, topic) }
        if let platforms = audience.platforms {
            text += " · " + platforms.map { platform($0) }.sorted().joined(separator: ", ")
        }
        return text
    }
}
