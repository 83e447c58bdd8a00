internal import PealCore

/// Compose: write, review, send.
enum ComposePages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "compose", .send) { call in
            let start = try await start(call)
            return try await editor(call, ComposeForm(start.form), leftOut: start.leftOut, error: nil).answer()
        },
        .app(.post, "compose", .send, submit).redrawing { call, refusal in
            try await editor(call, ComposeForm(call.form), error: refusal).answer()
        },
        .app(.post, "compose/check", .send, check),
    ]

    /// The fields of a new message: empty, or those of the draft, the template or the message to duplicate.
    /// `leftOut` has the members of that message which Compose has no field for.
    /// - Throws: `not_found` if it was deleted.
    private static func start(_ call: PageCall) async throws -> (form: Form, leftOut: [String]) {
        if let saved = try await SavedMessagePages.form(call) { return saved }
        guard let from = call.query["from"] else { return (call.query, []) }
        let app = try call.app.key
        guard let id = MessageID(from),
            let draft = try await call.services.store.read({ try $0.draft(app: app, id: id) })
        else { throw PealError.notFound("message") }
        return (ComposeForm.form(of: draft), ComposeForm.leftOut(of: draft))
    }

    @Sendable private static func submit(_ call: PageCall) async throws -> ConsoleAnswer {
        let form = ComposeForm(call.form)
        do {
            switch call.form["step"] {
            case "review": return try await review(call, form, sent: try await sentMessage(call, form)).answer()
            case "send": return try await send(call, form)
            case "test": return try await sendTest(call, form)
            case "save_draft": return try await SavedMessagePages.save(call, form, .draft)
            case "save_template": return try await SavedMessagePages.save(call, form, .template)
            case "rows": return try await editor(call, ComposeForm(call.form.withRowMore), error: nil).answer()
            default: return try await editor(call, form, error: nil).answer()
            }
        } catch let error as PealError where error.field != nil || error.code == .payloadTooLarge {
            return try await editor(call, form, error: error).answer(error.code.httpStatus)
        }
    }

    private static func draft(_ call: PageCall, _ form: ComposeForm) async throws -> MessageDraft {
        let request = try form.request()
        try form.checkComplete()
        let (app, now) = (try call.app, call.now)
        let id: MessageID = call.services.randomness.timeOrderedIdentifier(at: now)
        do {
            return try await call.services.store.read { [native = call.services.native] store in
                try native.message(request, id, app, store, now)
            }
        } catch let error as PealError {
            throw error.inForm
        }
    }

    // MARK: Write

    private static func editor(
        _ call: PageCall, _ form: ComposeForm, leftOut: [String] = [], error: PealError?
    ) async throws -> Page {
        let texts = call.texts
        let app = try call.app
        let (topics, segments) = try await call.list { store, more in
            (
                try store.topics(
                    app: app.key, TopicSearch(), PageNumber(number: 1, size: Limits.pageItemsMax), now: call.now
                ).items.map(\.name),
                try store.segments(app: app.key, after: nil, limit: 50 + more).map(\.name)
            )
        }
        let stars = try await Stars.devices(call).count
        var page = Page(call, texts[.compose], .compose)
        page.scripts = ["compose.js"]
        page.actions = "<a class=\"button\" href=\"\(call.link("drafts"))\">\(texts[.draftsAndTemplates])</a>"
        page.body = """
            \(call.problem(error))
            \(HTML.when(!leftOut.isEmpty, "<p class=\"notice warn\">\(texts(.leftOut, leftOut.joined(separator: ", ")))</p>"))
            <form method="post" action="\(call.link("compose"))" class="compose" id="compose" \
            data-keep\(if: call.isPosted, " data-sent") data-check="\(call.link("compose", "check"))">\(call.formStart)\
            <button class="hidden" name="step" value="review" tabindex="-1" aria-hidden="true">\(texts[.review])</button>
            <div class="stack">
            \(ComposeFields(call: call, form: form, topics: topics, segments: segments, error: error).html)
            \(SavedMessagePages.saveFields(call, form, error))
            <div class="actions end">\(HTML.when(stars > 0, "<button name=\"step\" value=\"test\">\(texts(.sendTest, texts.devices(stars)))</button>"))\
            <button class="primary" name="step" value="review">\(texts[.review])</button></div>
            </div>
            <p class="hidden" id="problem" role="status"></p>
            <aside id="check" aria-label="\(texts[.preview])">\
            \(await aside(call, form))</aside>
            </form>
            """
        return page
    }

    /// What the script requests while the author types.
    @Sendable private static func check(_ call: PageCall) async throws -> ConsoleAnswer {
        ConsoleAnswer(page: await aside(call, ComposeForm(call.form)))
    }

    /// The count and the previews, or why there are none.
    private static func aside(_ call: PageCall, _ form: ComposeForm) async -> HTML {
        let texts = call.texts
        do {
            let count = try await ComposeCheck.count(
                call, try form.audience(), form.audienceEnvironment, isExact: false)
            let counted: HTML =
                "<p class=\"count\" data-count role=\"status\">\(count.map { texts.devices($0) } ?? texts[.nobodyYet])</p>"
            guard form.hasContent else { return counted + "<p class=\"hint\">\(texts[.previewHint])</p>" }
            do {
                let draft = try await draft(call, form.withAnyAudience())
                return counted + (try await ComposeCheck.previews(call, draft))
            } catch let error as PealError where error.field != nil {
                return counted + "<p class=\"notice warn\">\(texts.message(error))</p>"
            }
        } catch let error as PealError {
            return "<p class=\"notice bad\">\(texts.message(error))</p>"
        } catch {
            return "<p class=\"notice bad\">\(texts[.internalText])</p>"
        }
    }

    // MARK: Review and send

    /// - Parameters:
    ///   - problem: why the review is shown again.
    ///   - sent: the message that was sent from this review.
    private static func review(
        _ call: PageCall, _ form: ComposeForm, _ problem: ReviewedCount.Answer = .send, sent: String? = nil
    ) async throws -> Page {
        let texts = call.texts
        let draft = try await draft(call, form)
        try await ComposeCheck.refuse(call, draft)
        let count = try await ComposeCheck.count(call, draft.audience, draft.audienceEnvironment, isExact: true) ?? 0
        var page = Page(call, texts[.review], .compose)
        page.trail = [(texts[.compose], call.link("compose"))]
        let reviewed = ReviewedCount(devices: count)
        let isLarge = count >= ReviewedCount.typedMin
        let problems: [ReviewedCount.Answer: Word] = [.wrongNumber: .wrongCount, .changed: .countChanged]
        let typed = Field(
            name: "confirm", label: texts(.typeCount, texts.number(count)), hint: texts[.typeCountHint],
            error: problems[problem].map { texts[$0] }, isRequired: true,
            more: " inputmode=\"numeric\" autocomplete=\"off\"")
        let once = call.form["once"] ?? Hex.encode(call.services.randomness.bytes(16))
        let kept = form.form.pairs.filter { !["csrf", "step", "once", "confirm", "counted", "from"].contains($0.name) }
        let counted = call.session.map { reviewed.field(of: form.identity, call.console.sessions, $0) }
        // A wrong year would send the message now.
        let isPast = form.form["at"] != nil && draft.startAt == nil && draft.options.recipientsTime == nil
        page.body = """
            \(HTML.with(sent) { sentNotice(call, $0) })
            \(HTML.when(isPast && sent == nil, "<p class=\"notice warn\">\(texts[.startHasPassed])</p>"))
            \(HTML.when(count == 0, "<p class=\"notice warn\">\(texts[.nobodyReached])</p>"))
            <div class="columns wide-left">
            <section class="card"><h2>\(texts[.summary])</h2>\(try facts(call, form, draft, count: count).html)
            <form method="post" action="\(call.link("compose"))" data-keep="review" data-sent>\(call.formStart)\
            \(HTML.each(kept) { "<input type=\"hidden\" name=\"\($0.name)\" value=\"\($0.value)\">" })\
            <input type="hidden" name="once" value="\(once)">\
            \(HTML.with(counted) { "<input type=\"hidden\" name=\"counted\" value=\"\($0)\">" })
            \(HTML.when(isLarge && sent == nil, typed.html))
            <div class="actions end"><button name="step" value="edit" formnovalidate>\(texts[.edit])</button>\
            \(HTML.when(sent == nil, "<button class=\"primary\" name=\"step\" value=\"send\">\(texts[.send])</button>"))</div>\
            </form></section>
            <section aria-label="\(texts[.preview])">\(try await ComposeCheck.previews(call, draft))</section>
            </div>
            """
        return page
    }

    /// What will be sent, when and to whom.
    private static func facts(
        _ call: PageCall, _ form: ComposeForm, _ draft: MessageDraft, count: Int
    ) throws -> FactList {
        let texts = call.texts
        var facts = FactList()
        facts.add(texts[.audience], "<strong>\(texts.devices(count))</strong><br>\(texts.audience(draft.audience))")
        facts.add(texts[.title], texts.shown(draft.content.title))
        facts.add(texts[.body], texts.shown(draft.content.body))
        let own = try form.platforms.objects().map { texts.platform($0.platform) }
        facts.add(texts[.platformFields], text: own.joined(separator: ", "))
        facts.addStart(call, draft.startAt, draft.options.recipientsTime, whenNone: "\(texts[.atOnce])")
        if let window = draft.window {
            facts.add(texts[.windowEnd], call.time(window.until))
            facts.add(texts[.windowMethod], text: texts.method(window.method))
        }
        if let rate = draft.options.ratePerSecond {
            facts.add(texts[.rateLimit], text: texts(.ratePerSecond, texts.number(Int(rate))))
        }
        if draft.options.isTransactional { facts.add(texts[.quietHours], text: texts[.transactionalShort]) }
        facts.add(texts[.campaign], text: draft.campaignID)
        return facts
    }

    private static func send(_ call: PageCall, _ form: ComposeForm) async throws -> ConsoleAnswer {
        let draft = try await draft(call, form)
        try await ComposeCheck.refuse(call, draft)
        let count = try await ComposeCheck.count(call, draft.audience, draft.audienceEnvironment, isExact: true) ?? 0
        if count >= ReviewedCount.typedMin {
            let reviewed = ReviewedCount(
                call.form["counted"], of: form.identity, call.console.sessions, call.session)
            guard let reviewed else { return try await review(call, form).answer() }
            let answer = reviewed.answer(typed: call.form["confirm"], present: count)
            guard answer == .send else { return try await review(call, form, answer).answer(400) }
        }
        // A button that is clicked twice sends once.
        guard let request = try onlySending(call, form) else { return try await review(call, form).answer() }
        let reply = try await call.services.verbs.messages.send(draft, call.verb.with(request)) { accepted in
            Reply(status: 202, ["id": .string(accepted.id.description)])
        }
        await SavedMessagePages.end(call)
        let id = (try? JSONParser.parse(reply.body))?["id"]?.stringValue ?? draft.id.description
        guard call.may(.read) else { return ConsoleAnswer(redirect: call.link("compose") + "?done=sent") }
        return ConsoleAnswer(redirect: call.link("messages", id))
    }
}

extension ComposePages {
    /// The sending of a reviewed message, which happens at most once; nil for a form that no review made.
    private static func onlySending(_ call: PageCall, _ form: ComposeForm) throws -> IdempotentRequest? {
        guard let once = call.form["once"], once.utf8.count == 32 else { return nil }
        let hasher = call.services.hasher
        return IdempotentRequest(
            scope: hasher.hash("console send\n\(call.holder?.actor.id ?? "")\n\(try call.app.key)"),
            key: once, digest: hasher.hash(form.identity))
    }

    /// The message that was already sent from this review; nil if none was.
    private static func sentMessage(_ call: PageCall, _ form: ComposeForm) async throws -> String? {
        guard let request = try onlySending(call, form) else { return nil }
        let reply = try await call.services.store.answer(keptFor: request, now: call.now)
        return reply.flatMap { (try? JSONParser.parse($0.body))?["id"]?.stringValue }
    }

    private static func sentNotice(_ call: PageCall, _ id: String) -> HTML {
        let link: HTML = " <a href=\"\(call.link("messages", id))\">\(call.texts[.openMessage])</a>"
        return "<p class=\"notice good\" role=\"status\">\(call.texts[.alreadySent])\(if: call.may(.read), link)</p>"
    }
}

extension Texts {
    func method(_ method: DeliveryWindow.Method) -> String {
        switch method {
        case .experiment: self[.methodExperiment]
        case .contextAware: self[.methodAware]
        case .traditional: self[.methodTraditional]
        }
    }
}

extension ComposePages {
    /// Sends the message now to the starred devices only, excluded from campaigns and statistics.
    private static func sendTest(_ call: PageCall, _ form: ComposeForm) async throws -> ConsoleAnswer {
        let stars = try await Stars.devices(call)
        guard !stars.isEmpty else { throw PealError.invalid("devices", call.texts[.noStars]) }
        var draft = try await draft(call, form.forTest)
        draft.audience = Audience()
        draft.audience.devices = stars.map(\.id)
        draft.isTest = true
        draft.campaignID = nil
        draft.source = nil
        draft.options.recipientsTime = nil
        draft.options.ratePerSecond = nil
        (draft.startAt, draft.window) = (nil, nil)
        draft.expiresAt = call.now + .seconds(3600)
        draft.options.life = .seconds(3600)
        try await ComposeCheck.refuse(call, draft)
        let reply = try await call.services.verbs.messages.send(draft, call.verb) { accepted in
            Reply(status: 202, ["id": .string(accepted.id.description)])
        }
        let id = (try? JSONParser.parse(reply.body))?["id"]?.stringValue ?? draft.id.description
        guard call.may(.read) else { return ConsoleAnswer(redirect: call.link("compose") + "?done=sent") }
        return ConsoleAnswer(redirect: call.link("messages", id))
    }
}
