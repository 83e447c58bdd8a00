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
        .app(.post, "messages/:id/rate", .send, changeRate).redrawing { call, refusal in
            try call.demand(.read)
            return try await page(call, error: refusal).answer()
        },
        .app(.get, "calendar", .read, calendar),
    ]

    private static let itemsPerPage = 25
    /// How many of the scheduled messages, the next ones, the calendar has.
    private static let calendarMax = 100

    /// One message in a list.
    struct Summary: Sendable {
        let report: MessageReport
        let title: String
        let audience: Audience?
        var isTest = false
        var message: Message { report.message }
    }

    static func summaries(
        _ call: PageCall, _ filter: MessageFilter, before: MessageID?, limit: Int
    ) async throws -> [Summary] {
        let app = try call.app.key
        return try await call.list(.heavy) { store, more in
            try store.messages(app: app, filter, before: before, limit: limit + more).map { message in
                let report = try store.report(app: app, id: message.id)
                let draft = try store.draft(app: app, id: message.id)
                return Summary(
                    report: report ?? MessageReport(message: message, platforms: [:]),
                    title: draft?.content.shownTitle ?? "", audience: draft?.audience, isTest: draft?.isTest ?? false)
            }
        }
    }

    @Sendable private static func list(_ call: PageCall) async throws -> ConsoleAnswer {
        let texts = call.texts
        let state = call.query["state"].flatMap { Message.State(name: $0) }
        var filter = MessageFilter(state: state, campaignID: call.query["campaign_id"])
        filter.text = call.query["text"]
        let before = call.query["after"].flatMap { MessageID($0) }
        var items = try await summaries(call, filter, before: before, limit: itemsPerPage + 1)
        let next = items.count > itemsPerPage ? items[itemsPerPage - 1].message.id.description : nil
        items = Array(items.prefix(itemsPerPage))
        var page = Page(call, texts[.messages], .messages)
        page.actions = call.composeLink
        let states = [("", texts[.allStates])] + Message.State.allCases.map { ($0.name, texts.state($0)) }
        let choice = Field(
            name: "state", label: texts[.state], kind: .choice(states), value: call.query["state"] ?? "")
        let campaign = Field(
            name: "campaign_id", label: texts[.campaign], value: call.query["campaign_id"] ?? "",
            more: " maxlength=\"255\"")
        let search = Field(name: "text", label: texts[.search], value: filter.text ?? "", more: " maxlength=\"255\"")
        let isFiltered = state != nil || filter.campaignID != nil || filter.text != nil
        page.body = """
            <form class="filter" method="get" action="\(call.path)">\(search.html)\(choice.html)\(campaign.html)\
            <button>\(texts[.show])</button></form>
            \(items.isEmpty && !isFiltered && before == nil
                ? call.empty(.noMessagesTitle, .noMessagesText, action: call.composeLink) : table(call, items))
            \(call.pager(next: next))
            """
        return page.answer()
    }

    static func table(_ call: PageCall, _ items: [Summary]) -> HTML {
        let texts = call.texts
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
                <a class="title" href="\(call.link("messages", item.message.id.description))">\(title)</a>\
                \(HTML.when(item.isTest, " <span class=\"tag\">\(texts[.test])</span>"))\
                \(HTML.with(item.message.campaignID) { " <span class=\"hint\">\($0)</span>" })
                """,
                call.badge(item.message.state),
                "<span class=\"audience\">\(item.audience.map { texts.audience($0) } ?? "")</span>",
                total.devices == 0 && item.message.cutoffAt == nil
                    ? "<span class=\"none\">–</span>" : call.number(total.devices),
                "\(total.devices == 0 ? "–" : texts.percent(total.accepted, of: total.devices))",
                call.time(item.message.createdAt),
            ]
        }
        return table.html
    }

    private static func page(_ call: PageCall, error: PealError? = nil) async throws -> Page {
        let (app, id): (AppKey, MessageID) = (try call.app.key, try call.id("id", of: "message"))
        let (report, draft) = try await call.services.store.read { store in
            (try store.report(app: app, id: id), try store.draft(app: app, id: id))
        }
        guard let report else { throw PealError.notFound("message") }
        let texts = call.texts
        let shownTitle = draft?.content.shownTitle ?? ""
        var page = Page(call, shownTitle.isEmpty ? texts[.untitled] : shownTitle, .messages)
        page.trail = [(texts[.messages], call.link("messages"))]
        page.scripts = ["message.js"]
        page.actions = actions(call, report.message)
        let isLive = MessageLive.isLive(report)
        let held = try await AppProblems.holding(call, report, draft?.audienceEnvironment)
        page.body = """
            <div id="live" class="stack"\(if: isLive, " data-events=\"\(call.link("messages", id.description, "events"))\" data-stale=\"\(texts[.notUpdated])\"")>
            \(try await MessageLive.fragment(call, report, held: held))
            </div>
            \(HTML.when(isLive, "<p class=\"hidden\" id=\"said\" role=\"status\"></p>"))
            \(HTML.when(!report.message.state.isFinal, MessageLive.pace(call)))
            \(rate(call, report.message, draft, error))
            <div class="columns">
            <section><h2>\(texts[.content])</h2>\(draft.map { content(call, $0) } ?? .empty)</section>
            <section><h2>\(texts[.details])</h2><div id="details">\(details(call, report, draft))</div></section>
            </div>
            \(try await MessageExplanation.section(call, id))
            """
        return page
    }

    /// The actions available in the message's state.
    static func actions(_ call: PageCall, _ message: Message) -> HTML {
        guard call.may(.send) else { return .empty }
        let texts = call.texts
        let path = call.link("messages", message.id.description)
        let mayPause = message.windowUntil == nil
        var buttons: [HTML] = []
        if message.state == .paused {
            buttons.append(call.button(texts[.resume], to: "\(path)/resume", "primary"))
        } else if !message.state.isFinal, mayPause {
            buttons.append(call.button(texts[.pause], to: "\(path)/pause"))
        }
        if !message.state.isFinal {
            buttons.append(
                call.button(texts[.cancelMessage], to: "\(path)/cancel", "danger", confirm: texts[.cancelConfirm]))
        }
        buttons.append(
            "<a class=\"button\" href=\"\(call.link("compose"))?from=\(message.id.description)\">\(texts[.duplicate])</a>"
        )
        return "\(buttons)"
    }

    private static func content(_ call: PageCall, _ draft: MessageDraft) -> HTML {
        let texts = call.texts
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

    static func details(_ call: PageCall, _ report: MessageReport, _ draft: MessageDraft?) -> HTML {
        let texts = call.texts
        let message = report.message
        var facts = FactList()
        facts.add("ID", "<code>\(message.id.description)</code>")
        if let draft { facts.add(texts[.audience], "\(texts.audience(draft.audience))") }
        facts.add(texts[.campaign], text: message.campaignID)
        facts.add(texts[.sentBy], text: message.dialect.rawValue)
        facts.add(texts[.made], call.time(message.createdAt))
        facts.addStart(call, message.startAt, draft?.options.recipientsTime)
        if let window = message.windowUntil { facts.add(texts[.windowEnd], call.time(window)) }
        facts.add(texts[.expires], call.time(message.expiresAt))
        if let first = message.firstSentAt { facts.add(texts[.firstSent], call.time(first)) }
        if let ended = message.endedAt { facts.add(texts[.ended], call.time(ended)) }
        if let rate = draft?.options.ratePerSecond {
            facts.add(texts[.rateLimit], text: texts(.ratePerSecond, texts.number(Int(rate))))
        }
        facts.add(texts[.averageRate], text: averageRate(texts, report))
        if draft?.options.isTransactional == true { facts.add(texts[.quietHours], text: texts[.transactionalShort]) }
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
        _ call: PageCall, _ message: Message, _ draft: MessageDraft?, _ error: PealError?
    ) -> HTML {
        let texts = call.texts
        guard call.may(.send), !message.state.isFinal, message.windowUntil == nil else { return .empty }
        let field = Field(
            name: "rate_per_second", label: texts[.rateLimit],
            value: call.form["rate_per_second"] ?? draft?.options.ratePerSecond.map { String($0) } ?? "",
            hint: texts[.rateLimitHint], error: error.map(texts.message),
            more: " inputmode=\"numeric\" autocomplete=\"off\"")
        return """
            <section class="card" id="rate"><h2>\(texts[.pace])</h2>
            <form class="filter" method="post" action="\(call.link("messages", message.id.description, "rate"))" \
            data-keep\(if: call.isPosted, " data-sent")>\(call.formStart)\(field.html)<button>\(texts[.changeRate])</button></form></section>
            """
    }

    @Sendable private static func changeRate(_ call: PageCall) async throws -> ConsoleAnswer {
        let (app, id): (AppKey, MessageID) = (try call.app.key, try call.id("id", of: "message"))
        let rate: Int64?
        do throws(PealError) {
            rate = try ComposeForm(call.form).rate()
        } catch {
            guard call.may(.read) else { throw error }
            return try await page(call, error: error).answer(400)
        }
        _ = try await call.services.verbs.messages.change(
            id, app: app, call.verb, onlyRate: MessageVerbs.RateChange(perSecond: rate)
        ) { draft throws(PealError) in
            draft.options.ratePerSecond = rate
            // The request of another API stays as that API's clients know it.
            guard draft.dialect == "native" else { return }
            draft.source = draft.source.flatMap { ComposeForm.source($0, withRate: rate) }
        }
        return ConsoleAnswer(redirect: call.link("messages", id.description) + "?done=saved")
    }

    private typealias Step =
        @Sendable (
            MessageID, AppKey, VerbCall, @escaping @Sendable (MessageReport) throws -> Reply
        ) async throws -> Reply

    private static func move(
        _ call: PageCall, _ notice: String, _ verb: (MessageVerbs) -> Step
    ) async throws -> ConsoleAnswer {
        let (app, id): (AppKey, MessageID) = (try call.app.key, try call.id("id", of: "message"))
        _ = try await verb(call.services.verbs.messages)(id, app, call.verb) { _ in Reply(status: 200, body: []) }
        return ConsoleAnswer(redirect: call.link("messages", id.description) + "?done=\(notice)")
    }

    /// Scheduled messages and the latest others, by day.
    @Sendable private static func calendar(_ call: PageCall) async throws -> ConsoleAnswer {
        let texts = call.texts
        let app = try call.app.key
        let (all, isCut) = try await call.list(.heavy) { store, _ in
            // The store returns them in the order of their creation.
            let scheduled = try store.messages(app: app, MessageFilter(state: .scheduled), before: nil, limit: 2000)
            let waiting = scheduled.sorted { ($0.startAt ?? $0.createdAt) < ($1.startAt ?? $1.createdAt) }
            let latest = try store.messages(app: app, MessageFilter(), before: nil, limit: 100)
            let entries = try (waiting.prefix(calendarMax) + latest.filter { $0.state != .scheduled }).map {
                try CalendarEntry($0, in: store)
            }
            return (entries, waiting.count > calendarMax)
        }
        let days = Dictionary(grouping: all) { String($0.dayTime.description.prefix(10)) }
        var page = Page(call, texts[.calendar], .calendar)
        page.lead = "\(texts[.calendarLead])"
        guard !all.isEmpty else {
            page.body = call.empty(.noMessagesTitle, .noMessagesText, action: call.composeLink)
            return page.answer()
        }
        let rest: HTML = """
            <p class="hint">\(texts(.calendarCut, texts.number(calendarMax))) \
            <a href="\(call.link("messages"))?state=scheduled">\(texts[.showAll])</a></p>
            """
        let sections = HTML.each(days.sorted { $0.key > $1.key }) { day, items in
            """
            <section class="day"><h2><time datetime="\(day)">\(day)</time></h2><ul class="plain">\
            \(HTML.each(items.sorted { $0.dayTime < $1.dayTime }) { entry(call, $0) })</ul></section>
            """
        }
        page.body = "\(HTML.when(isCut, rest))\(sections)"
        return page.answer()
    }

    private static func entry(_ call: PageCall, _ item: CalendarEntry) -> HTML {
        """
        <li>\(item.recipientsTime.map { call.wallTime($0) } ?? call.time(item.dayTime)) \
        \(call.badge(item.message.state)) \
        <a href="\(call.link("messages", item.message.id.description))">\
        \(item.title.isEmpty ? call.texts[.untitled] : item.title)</a>\
        \(if: item.recipientsTime != nil, " <span class=\"tag\">\(call.texts[.recipientsTime])</span>")</li>
        """
    }
}

extension FactList {
    /// When a message starts: an instant, or a time on each recipient's clock and the instant of the first of them.
    mutating func addStart(_ call: PageCall, _ start: Timestamp?, _ wall: Timestamp?, whenNone: HTML? = nil) {
        if let wall { add(call.texts[.starts], call.recipientsTime(wall)) }
        guard let shown = start.map({ call.time($0) }) ?? whenNone else { return }
        add(call.texts[wall == nil ? .starts : .firstRecipients], shown)
    }
}

/// A message in the calendar.
private struct CalendarEntry: Sendable {
    let message: Message
    let title: String
    /// What every recipient's own clock shows then, as if it were UTC.
    private(set) var recipientsTime: Timestamp?

    init(_ message: Message, in store: any StoreReading) throws {
        self.message = message
        title = try store.overview(app: message.app, id: message.id)?.title ?? ""
        // Only a later start can depend on the recipient.
        guard let start = message.startAt, start > message.createdAt else { return }
        recipientsTime = try store.draft(app: message.app, id: message.id)?.options.recipientsTime
    }

    /// The time under which it is listed.
    var dayTime: Timestamp { recipientsTime ?? message.startAt ?? message.createdAt }
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
