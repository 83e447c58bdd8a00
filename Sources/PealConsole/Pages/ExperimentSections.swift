internal import PealCore
internal import PealExperiments
internal import PealMomentTraining

/// The experiment of a campaign: its result, whether the result can be trusted, and the details.
struct ExperimentSections {
    let call: PageCall
    let campaign: String
    let learning: CampaignLearning?
    /// The newest model of the campaign itself; nil while phones use the one of all campaigns or the built-in one.
    let release: ModelRelease?
    /// Whether there is a model of all campaigns.
    var hasSharedModel = false
    /// Why the share could not be changed.
    var error: PealError?

    private var texts: Texts { call.texts }

    func html(_ soon: ExperimentReports.Soon) -> HTML {
        switch soon {
        case .made(let report): html(report)
        case .beingMade:
            """
            <section class="card" id="experiment"><h2>\(texts[.experiment])</h2>\(call.pending(.evaluating))</section>
            """
        }
    }

    private func html(_ report: ExperimentReport?) -> HTML {
        guard let report else {
            let link = "\(call.link("compose"))?campaign_id=\(PercentCoding.encode(campaign))"
            return """
                <section class="card" id="experiment"><h2>\(texts[.experiment])</h2><p>\(texts[.noExperiment])</p>
                \(HTML.when(call.may(.send), "<p><a class=\"button\" href=\"\(link)\">\(texts[.compose])</a></p>"))</section>
                """
        }
        return """
            <section class="card" id="experiment"><h2>\(texts[.experiment])</h2>\(headline(report))</section>
            \(ExperimentShare(call: call, campaign: campaign, report: report, error: error).html)
            <section><h2>\(texts[.arms])</h2>\(arms(report).html)<p class="hint">\(texts[.armsHint])</p></section>
            <div class="columns">
            <section class="card"><h2>\(texts[.liftOverTime])</h2>\(LiftChart(looks: report.looks).html(call))</section>
            <section class="card"><h2>\(texts[.openDelays])</h2>\(delays(report))</section>
            <section class="card"><h2>\(texts[.openContexts])</h2>\(HeatMap(map: report.contexts).html(call))</section>
            <section class="card"><h2>\(texts[.reachability])</h2>\(reachability(report.facts.devices))</section>
            </div>
            <section><h2>\(texts[.guardrails])</h2>\(guardrails(report))</section>
            <section class="card"><h2>\(texts[.momentModel])</h2>\(model(report))</section>
            \(HTML.with(report.modelCheck) { ModelCheckSections(call: call, check: $0).html })
            """
    }

    // MARK: Result

    private func headline(_ report: ExperimentReport) -> HTML {
        """
        <div class="verdict \(tone(report.decision))" data-verdict="\(report.decision.rawValue)">
        <p class="big">\(texts.verdict(report.decision))</p>
        \(HTML.with(report.lift) { lift in
            """
            <p class="lift"><strong>\(texts.change(lift.value))</strong> \
            \(texts(.liftBetween, texts.change(lift.interval.lowerBound), texts.change(lift.interval.upperBound)))</p>
            """
        })
        <p>\(explanation(report))</p></div>
        \(HTML.when(report.facts.isOver, "<p class=\"hint\">\(texts[.experimentOver])</p>"))
        \(ratioLight(report))
        """
    }

    private func tone(_ decision: ExperimentDecision) -> String {
        switch decision {
        case .promote: "good"
        case .revert, .noDifference: "warn"
        case .untrustworthy: "bad"
        case .undecided: "dim"
        }
    }

    private func explanation(_ report: ExperimentReport) -> String {
        switch report.decision {
        case .promote: texts[.promoteText]
        case .revert: texts[.revertText]
        case .noDifference: texts[.noDifferenceText]
        case .untrustworthy: texts[.untrustworthyText]
        case .undecided:
            if let needed = report.messagesNeeded {
                texts(
                    .undecidedNeeds, texts.number(needed),
                    texts.number(min(report.totals(.contextAware).messages, report.totals(.traditional).messages)))
            } else {
                texts[report.looks.isEmpty ? .nothingMatured : .undecidedNoOpens]
            }
        }
    }

    /// Whether the arms have the expected sizes.
    private func ratioLight(_ report: ExperimentReport) -> HTML {
        let counts = (report.alarm.contextAware, report.alarm.traditional)
        guard counts.0 + counts.1 > 0 else { return .empty }
        let share = texts.percent(Int((report.facts.run.share * 1000).rounded()), of: 1000)
        return """
            <p class="light">\(call.badge(texts[report.alarm.isRaised ? .ratioBad : .ratioGood], report.alarm.isRaised ? "bad" : "good")) \
            \(texts(.ratioText, texts.number(counts.0), texts.number(counts.1), share))</p>
            """
    }

    private func arms(_ report: ExperimentReport) -> ListTable {
        var table = ListTable(
            caption: texts[.arms],
            columns: [
                texts[.arm], texts[.users], texts[.matured], texts[.opened], texts[.openRate], texts[.shownByPhone],
                texts[.sentByServer], texts[.pending], texts[.failed],
            ], numbers: [1, 2, 3, 4, 5, 6, 7, 8])
        table.rows = Arm.allCases.reversed().map { arm in
            let totals = report.totals(arm)
            let ways: [ExperimentFacts.Way] = [.phone, .server, .pending, .failed]
            return [
                "<strong>\(texts.arm(arm))</strong>", call.number(totals.users), call.number(totals.messages),
                call.number(totals.opens), "\(texts.percent(totals.opens, of: totals.messages))",
            ] + ways.map { call.number(report.messages(arm, $0)) }
        }
        return table
    }

    // MARK: Details

    /// The time from sending to opening: a table with bars.
    private func delays(_ report: ExperimentReport) -> HTML {
        let columns = [Arm.contextAware, .traditional].map { (arm: $0, counts: report.delays($0)) }
        let sums = columns.map { $0.counts.reduce(0, +) }
        guard sums.contains(where: { $0 > 0 }) else { return "<p class=\"none\">\(texts[.noOpens])</p>" }
        let shares = columns.indices.flatMap { index in
            columns[index].counts.map { sums[index] == 0 ? 0 : $0 * 1000 / sums[index] }
        }
        let top = max(1, shares.max() ?? 1)
        return """
            <table class="funnel delays"><caption class="hidden">\(texts[.openDelays])</caption>
            <thead><tr><th scope="col">\(texts[.delay])</th>\(HTML.each(columns) { "<th scope=\"col\" colspan=\"2\">\(texts.arm($0.arm))</th>" })</tr></thead>
            <tbody>\(HTML.each(0...ExperimentFacts.delayLimits.count) { index in
                """
                <tr><th scope="row">\(texts.delay(index))</th>\(HTML.each(columns.indices) { column in
                    bar(columns[column].counts[index], of: sums[column], top: top, isFirst: column == 0)
                })</tr>
                """
            })</tbody></table><p class="hint">\(texts[.delayHint])</p>
            """
    }

    private func bar(_ count: Int, of sum: Int, top: Int, isFirst: Bool) -> HTML {
        let width = sum == 0 ? 0 : count * 1000 / sum * 1000 / top
        return """
            <td class="num">\(texts.number(count))</td><td class="bars"><svg class="bar" viewBox="0 0 1000 10" \
            preserveAspectRatio="none" aria-hidden="true"><rect class="ground" width="1000" height="10"/>\
            <rect class="\(isFirst ? "accent" : "dim")" width="\(min(1000, width))" height="10"/></svg></td>
            """
    }

    /// What must not become worse although more messages are opened.
    private func guardrails(_ report: ExperimentReport) -> HTML {
        var table = ListTable(
            caption: texts[.guardrails],
            columns: [texts[.guardrail], texts.arm(.contextAware), texts.arm(.traditional), texts[.judgement]],
            numbers: [1, 2])
        table.rows = report.guardrails.map { item in
            [
                "<strong>\(texts.measure(item.measure))</strong>", rate(item.contextAware), rate(item.traditional),
                item.difference == nil
                    ? call.badge(texts[.noData], "dim")
                    : call.badge(texts[item.isWorse ? .worse : .notWorse], item.isWorse ? "bad" : "good"),
            ]
        }
        let medians = [Arm.contextAware, .traditional].map { arm in
            report.medianDelay(arm).map { "\(texts.delay($0))" } ?? "–" as HTML
        }
        table.rows.append(
            ["<strong>\(texts[.medianDelay])</strong>"] + medians + [call.badge(texts[.byDesign], "dim")])
        return "\(table.html)<p class=\"hint\">\(texts[.guardrailsHint])</p>"
    }

    /// Cases per thousand, with the numbers behind it.
    private func rate(_ sums: CaseSums) -> HTML {
        guard let share = sums.share else { return "<span class=\"none\">–</span>" }
        return """
            <span><span class="number">\(texts.perThousand(share))</span> \
            <span class="hint">\
            \(texts(.countOf, texts.number(Int(sums.cases)), texts.number(Int(sums.occasions))))</span></span>
            """
    }

    private func reachability(_ devices: ExperimentFacts.Devices) -> HTML {
        guard devices.total > 0 else { return "<p class=\"none\">\(texts[.noReachability])</p>" }
        let parts: [(Word, String, Int)] = [
            (.reachAvailable, "good", devices.available), (.reachUnknown, "wait", devices.unknown),
            (.reachUnavailable, "bad", devices.unavailable), (.reachWithoutSDK, "dim", devices.withoutSDK),
        ]
        var offset = 0
        let bars = HTML.each(parts.filter { $0.2 > 0 }) { part in
            let start = offset
            offset += part.2
            return """
                <rect class="\(part.1)" x="\(start * 1000 / devices.total)" y="0" width="\(max(3, part.2 * 1000 / devices.total))" height="10"/>
                """
        }
        return """
            <svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">\
            <rect class="ground" width="1000" height="10"/>\(bars)</svg>
            <dl class="figures">\(HTML.each(parts) { word, tone, count in
                """
                <div><dt><i class="dot \(tone)"></i>\(texts[word])</dt><dd>\(texts.number(count)) \
                <span class="hint">\(texts.percent(count, of: devices.total))</span></dd></div>
                """
            })</dl><p class="hint">\(texts[.reachabilityHint])</p>
            """
    }

    private func model(_ report: ExperimentReport) -> HTML {
        var facts = FactList()
        addRelease(to: &facts)
        if let learning { add(learning, to: &facts) }
        if let comparison = report.comparison {
            let chance = Int((comparison.chanceOfGain * 1000).rounded())
            facts.add(texts[.chanceOfGain], text: texts.percent(chance, of: 1000))
            facts.add(texts[.expectedLoss], text: texts(.expectedLossText, texts.perThousand(comparison.expectedLoss)))
        }
        if let ratio = report.comparison?.varianceRatio, ratio < 1 {
            let share = texts.percent(Int((ratio * 1000).rounded()), of: 1000)
            facts.add(texts[.varianceRatio], text: texts(.varianceRatioText, share))
        }
        facts.add(texts[.started], call.time(report.facts.run.startedAt))
        facts.add(texts[.salt], "<code>\(report.facts.run.salt)</code>")
        return "<p class=\"hint\">\(texts[.modelText])</p>\(facts.html)"
    }

    private func addRelease(to facts: inout FactList) {
        guard let draft = release?.draft else {
            facts.add(texts[.model], text: texts[hasSharedModel ? .sharedModel : .builtInModel])
            facts.add(texts[.trainedOn], text: texts[.notTrained])
            return
        }
        facts.add(texts[.model], text: texts(.modelVersion, String(draft.version)))
        facts.add(
            texts[.trainedOn],
            "\(texts(.modelLabels, texts.number(Int(draft.labels)))) \(call.time(draft.trainedAt))")
        facts.add(texts[.expires], call.time(draft.expiresAt))
    }

    private func add(_ learning: CampaignLearning, to facts: inout FactList) {
        // The server counts displays when it trains; there are none before the first training.
        if learning.displays > 0 {
            facts.add(
                texts[.learned],
                text: texts(.learnedFrom, texts.number(learning.displays), texts.number(learning.opens)))
        }
        if let gain = learning.offPolicy {
            facts.add(
                texts[.offPolicyGain],
                text: texts(
                    .offPolicyGainText, texts.perHundred(gain.gain), texts.perHundred(gain.error, isSigned: false),
                    texts.number(Int(gain.messages)), texts.number(Int(gain.effectiveMessages))))
        }
        if learning.hasDrifted { facts.add(texts[.drift], call.badge(texts[.drifted], "warn")) }
        facts.add(texts[.objections], text: learning.objections.map(texts.objection).joined(separator: ", "))
        if let until = learning.heldUntil { facts.add(texts[.heldUntil], call.time(until)) }
    }
}

/// The always-valid band of the lift, with the numbers in a table.
struct LiftChart: Sendable {
    let looks: [ExperimentReport.Look]

    private static let (width, height) = (600.0, 160.0)

    private typealias Point = (at: Timestamp, low: Double, value: Double, high: Double)

    private var points: [Point] {
        looks.compactMap { look in
            look.lift.map { (look.at, $0.interval.lowerBound, $0.value, $0.interval.upperBound) }
        }
    }

    func html(_ call: PageCall) -> HTML {
        let texts = call.texts
        let points = points
        guard let last = points.last else { return "<p class=\"none\">\(texts[.noLooks])</p>" }
        // The first intervals are so wide that they would hide the rest.
        let settled = points.suffix(max(2, (points.count + 1) / 2))
        let reach = max(0.05, settled.map { max(abs($0.low), abs($0.high)) }.max() ?? 1)
        let top = min(reach, max(abs(last.low), abs(last.high)) * 3) * 1.1
        let label = texts(
            .liftChartLabel, texts.change(last.value), texts.change(last.low), texts.change(last.high))
        return """
            <figure class="chart"><div class="plot"><ol class="scale" aria-hidden="true"><li>\(texts.change(top))</li>\
            <li>0 %</li><li>\(texts.change(-top))</li></ol>\
            <svg viewBox="0 0 600 160" preserveAspectRatio="none" role="img" aria-label="\(label)">\
            \(Self.shapes(points, top))</svg></div>
            <figcaption class="row hint"><span>\(HTML.with(points.first) { call.day($0.at) })</span>\
            <span>\(call.day(last.at))</span></figcaption>
            <p class="hint">\(texts[.bandHint])</p>
            <details><summary>\(texts[.asTable])</summary>\(Self.table(call, points).html)</details></figure>
            """
    }

    /// The band, the zero line and the line of values.
    /// - Parameter top: the value at the upper edge.
    private static func shapes(_ points: [Point], _ top: Double) -> HTML {
        func coordinates(_ index: Int, _ value: Double) -> String {
            let x = points.count == 1 ? width / 2 : Double(index) / Double(points.count - 1) * width
            let y = height / 2 - max(-1, min(1, value / top)) * height / 2
            return "\(Int(x.rounded())),\(Int(y.rounded()))"
        }
        let upper = points.indices.map { coordinates($0, points[$0].high) }
        let lower = points.indices.reversed().map { coordinates($0, points[$0].low) }
        var line = points.indices.map { coordinates($0, points[$0].value) }
        if line.count == 1, let y = line[0].split(separator: ",").last { line = ["0,\(y)", "600,\(y)"] }
        return """
            <polygon class="band" points="\((upper + lower).joined(separator: " "))"/>\
            <line class="zero" x1="0" y1="80" x2="600" y2="80"/>\
            <polyline class="line" points="\(line.joined(separator: " "))"/>
            """
    }

    private static func table(_ call: PageCall, _ points: [Point]) -> ListTable {
        let texts = call.texts
        var table = ListTable(
            caption: texts[.liftOverTime], columns: [texts[.at], texts[.lift], texts[.from], texts[.to]],
            numbers: [1, 2, 3])
        table.rows = points.reversed().map {
            [call.day($0.at), "\(texts.change($0.value))", "\(texts.change($0.low))", "\(texts.change($0.high))"]
        }
        return table
    }
}
