internal import PealCore

/// What was sent in the last hours, by hour: a chart with its sums. The store keeps these sums, so nothing is counted
/// here.
struct Traffic: Sendable {
    let series: [Statistics]

    /// The beginning of the first hour.
    static func start(hours: Int64, now: Timestamp) -> Timestamp {
        Statistics.Step.hour.start(of: now - .seconds((hours - 1) * 3600))
    }

    /// - Parameter counted: of one app, or of several.
    init(_ counted: [Statistics], hours: Int64, now: Timestamp) {
        series = Statistics.series(
            counted, from: Self.start(hours: hours, now: now), to: now + .seconds(1), by: .hour)
    }

    /// nil if nothing was sent.
    var sum: Statistics? {
        let sum = series.reduce(into: Statistics(at: series.first?.at ?? Timestamp(milliseconds: 0))) { $0.add($1) }
        return sum.isZero ? nil : sum
    }

    /// Empty if nothing was sent.
    func html(_ call: PageCall, title: String) -> HTML {
        let texts = call.texts
        guard let sum else { return .empty }
        let chart = ColumnChart(
            title: title,
            columns: series.map { .init(at: $0.at, accepted: $0.accepted, failed: $0.notAccepted) })
        let figures: [(Word, Int)] = [
            (.accepted, sum.accepted), (.notAccepted, sum.notAccepted), (.received, sum.received),
            (.opened, sum.opened),
        ]
        return """
            <section class="card"><h2>\(title)</h2><dl class="figures">\(HTML.each(figures) { word, count in
                "<div><dt>\(texts[word])</dt><dd>\(texts.number(count))</dd></div>"
            })</dl>\(chart.html(call))</section>
            """
    }
}

extension Statistics {
    /// Devices whose message ended without being accepted.
    var notAccepted: Int { rejected + retired + expired + suppressed }
}
