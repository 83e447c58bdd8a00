internal import PealCore
internal import PealExperiments
internal import PealMomentTraining

/// The share of an experiment: a form that changes it, and how earlier runs ended.
struct ExperimentShare {
    let call: PageCall
    let campaign: String
    let report: ExperimentReport
    let error: PealError?

    private var texts: Texts { call.texts }

    var html: HTML {
        let isChangeable = call.may(.manage) && !report.facts.isOver
        guard isChangeable || !report.facts.changes.isEmpty else { return .empty }
        return """
            <section class="card" id="experiment-share"><h2>\(texts[.experimentShare])</h2>\(if: isChangeable, form)\
            \(if: !report.facts.changes.isEmpty, "<h3>\(texts[.shareChanges])</h3>\(changes.html)")</section>
            """
    }

    private var form: HTML {
        let value = report.advisedShare ?? report.facts.run.share
        let field = Field(
            name: "share", label: texts[.shareLabel], value: call.form["share"] ?? Self.percent(value),
            hint: texts[.shareHint], error: error.map(texts.message), isRequired: true,
            more: " inputmode=\"decimal\" autocomplete=\"off\"")
        return """
            <form method="post" action="\(call.link("campaigns", campaign))" class="narrow" \
            data-confirm="\(texts[.shareConfirm])" data-keep\(if: call.isPosted, " data-sent")>\(call.askingFormStart)\(field.html)\
            <div class="actions"><button>\(texts[.changeShare])</button></div></form>
            """
    }

    private var changes: ListTable {
        var table = ListTable(
            caption: texts[.shareChanges],
            columns: [
                texts[.at], texts[.actor], texts[.shareFrom], texts[.shareTo], texts[.verdict], texts[.lift],
                texts[.matured],
            ], numbers: [2, 3, 5, 6])
        table.rows = report.facts.changes.reversed().map { change in
            let result = change.result
            let lift = result.lift.map { "\(texts.change($0))" as HTML } ?? "<span class=\"none\">–</span>"
            let decision = ExperimentDecision(rawValue: result.verdict)
            return [
                call.time(change.at), "\(change.actor)", "\(texts.share(change.formerShare))",
                "\(texts.share(change.share))", "\(decision.map(texts.verdict) ?? result.verdict)", lift,
                call.number(result.arms.values.reduce(0) { $0 + $1.messages }),
            ]
        }
        return table
    }

    /// As people write it in a form: with as many decimals as it has.
    private static func percent(_ share: Double) -> String {
        let text = String((share * 1e6).rounded() / 1e4)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Reads a percentage, with a point or a comma.
    /// - Throws: `invalid_field`.
    static func read(_ text: String?) throws(PealError) -> Double {
        guard let text else { throw .missing("share") }
        let digits = text.replacing(",", with: ".").replacing("%", with: "").trimmedBlanks
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }), let percent = Double(digits),
            (0...100).contains(percent)
        else {
            throw .invalid("share", "must be a number from 0 to 100")
        }
        return percent / 100
    }
}
