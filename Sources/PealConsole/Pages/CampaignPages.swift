internal import PealCore
internal import PealExperiments

/// Campaigns with the totals of their messages.
enum CampaignPages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "campaigns", .read, list),
        .app(.get, "campaigns/:id", .read, show),
        .app(.post, "campaigns/:id", .manage, changeShare).confirming(.shareConfirm).redrawing { call, refusal in
            try call.demand(.read)
            return try await page(call, error: refusal).answer()
        },
    ]

    private static let itemsPerPage = 20
    private static let messagesShown = 20

    @Sendable private static func list(_ call: PageCall) async throws -> ConsoleAnswer {
        let texts = call.texts
        let reports = try await call.services.verbs.campaigns.reports(
            after: call.query["after"], limit: itemsPerPage + 1, app: try call.app.key)
        let shown = Array(reports.prefix(itemsPerPage))
        var page = Page(call, texts[.campaigns], .campaigns)
        guard !shown.isEmpty else {
            page.body = call.empty(.noCampaignsTitle, .noCampaignsText, action: call.composeLink)
            return page.answer()
        }
        var table = ListTable(
            caption: texts[.campaigns],
            columns: [
                texts[.campaign], texts[.messages], texts[.devices], texts[.accepted], texts[.received], texts[.opened],
            ],
            numbers: [1, 2, 3, 4, 5])
        table.rows = shown.map { report in
            [
                "<a class=\"title\" href=\"\(call.link("campaigns", report.id))\">\(report.id)</a>",
                call.number(report.messages), call.number(report.total.devices), call.number(report.total.accepted),
                call.number(report.receipts[.received] ?? 0), call.number(report.receipts[.opened] ?? 0),
            ]
        }
        page.body = "\(table.html)\(call.pager(next: reports.count > itemsPerPage ? shown.last?.id : nil))"
        return page.answer()
    }

    @Sendable private static func show(_ call: PageCall) async throws -> ConsoleAnswer {
        try await page(call).answer()
    }

    @Sendable private static func changeShare(_ call: PageCall) async throws -> ConsoleAnswer {
        let (app, id) = (try call.app, call.parameter("id"))
        do {
            let share = try ExperimentShare.read(call.form["share"])
            _ = try await call.services.experiments.changeShare(of: id, in: app, to: share, call.verb) { _ in
                Reply(status: 200, body: [])
            }
            return ConsoleAnswer(redirect: call.link("campaigns", id) + "?done=saved")
        } catch let error as PealError where call.may(.read) && (error.field != nil || error.code == .conflict) {
            return try await page(call, error: error).answer(error.code.httpStatus)
        }
    }

    private static func page(_ call: PageCall, error: PealError? = nil) async throws -> Page {
        let texts = call.texts
        let id = call.parameter("id")
        let app = try call.app
        if call.services.experiments.isMaking(id, of: app) {
            var page = Page(call, id, .campaigns)
            page.trail = [(texts[.campaigns], call.link("campaigns"))]
            page.body = ExperimentSections(call: call, campaign: id, learning: nil, release: nil).html(.beingMade)
            return page
        }
        let report = try await call.services.verbs.campaigns.report(id, app: app.key)
        let model = try await call.services.store.read { store in
            (
                learning: try store.learning(app: app.key, campaign: id),
                release: try store.modelRelease(app: app.key, campaign: id, version: nil),
                hasShared: try store.modelRelease(app: app.key, campaign: "", version: nil) != nil
            )
        }
        let messages = try await MessagePages.summaries(
            call, MessageFilter(campaignID: id), before: nil, limit: messagesShown + 1)
        let all = call.link("messages") + "?campaign_id=\(PercentCoding.encode(id))"
        // Read last, because it may occupy the store's reader for large reads for longer than the page waits.
        let experiment = try await call.services.experiments.soon(id, of: app)
        let experimentSections = ExperimentSections(
            call: call, campaign: id, learning: model.learning, release: model.release,
            hasSharedModel: model.hasShared, error: error)
        var page = Page(call, id, .campaigns)
        page.trail = [(texts[.campaigns], call.link("campaigns"))]
        page.body = """
            \(experimentSections.html(experiment))
            <section class="card"><h2>\(texts[.funnel])</h2>\(funnel(call, report))</section>
            <section class="card"><h2>\(texts[.reasons])</h2>\(call.outcomes(report.total))\(reasons(call, report))</section>
            <section><div class="row"><h2>\(texts[.messages])</h2>\
            \(HTML.when(messages.count > messagesShown, "<a href=\"\(all)\">\(texts[.allMessages])</a>"))</div>\
            \(MessagePages.table(call, Array(messages.prefix(messagesShown))))</section>
            """
        return page
    }

    /// From addressed to opened. The bars repeat the numbers of the table.
    private static func funnel(_ call: PageCall, _ report: CampaignReport) -> HTML {
        let texts = call.texts
        let all = max(1, report.total.devices)
        let steps: [(Word, Int)] = [
            (.devices, report.total.devices), (.accepted, report.total.accepted),
            (.received, report.receipts[.received] ?? 0), (.opened, report.receipts[.opened] ?? 0),
        ]
        return """
            <table class="funnel"><tbody>\(HTML.each(steps) { word, count in
                """
                <tr><th scope="row">\(texts[word])</th><td class="num">\(texts.number(count))</td>\
                <td class="num">\(texts.percent(count, of: report.total.devices))</td>\
                <td class="wide"><svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">\
                <rect class="ground" width="1000" height="10"/><rect class="accent" width="\(min(1000, count * 1000 / all))" height="10"/>\
                </svg></td></tr>
                """
            })</tbody></table>
            """
    }

    private static func reasons(_ call: PageCall, _ report: CampaignReport) -> HTML {
        let texts = call.texts
        guard !report.total.reasons.isEmpty else { return "<p class=\"none\">\(texts[.noReasons])</p>" }
        var table = ListTable(caption: texts[.reasons], columns: [texts[.reason], texts[.devices]], numbers: [1])
        table.rows = report.total.commonReasons.map { [call.reason($0.key), call.number($0.value)] }
        return "\(table.html)\(call.cut(table.rows.count, of: report.total.reasons.count))"
    }
}
