internal import ArgumentParser
import Foundation
import PealMoments
import PealWorlds

/// `peal-lab report`: the evaluation as charts in one self-contained HTML file.
struct MomentReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report", abstract: "Write an HTML page with charts of lift, calibration and sample windows.")

    @Option(help: "The file to write.")
    var html: String

    @Option(help: "Seed of everything that happens in the world.")
    var seed = 7

    @Option(help: "Length of the delivery window in hours, 1 to 12.")
    var windowHours = 6

    @Option(help: "People in the world.")
    var users = 1500

    func validate() throws {
        guard (1...12).contains(windowHours), users >= 20 else {
            throw ValidationError("--window-hours must be 1 to 12, and --users at least 20")
        }
    }

    func run() throws {
        var settings = PocketDayTrial.Settings()
        (settings.seed, settings.people, settings.windowHours) = (seed, users, windowHours)
        try MomentReport(settings).html().write(toFile: html, atomically: true, encoding: .utf8)
        print("wrote \(html)")
    }
}

/// The data of the charts.
struct MomentReport {
    private let evaluation: Evaluation
    private let windowHours: Int
    private let calibration: [(expected: Double, opened: Double)]
    private let windows: [SampleWindow]

    /// One message of the test: its score and threshold at every wake.
    struct SampleWindow {
        let title: String
        let scores: [Double]
        let thresholds: [Double]
        let arrived: [Bool]
        let shown: Int
    }

    init(_ settings: PocketDayTrial.Settings) throws {
        evaluation = try Evaluation(pocketDay: settings)
        windowHours = settings.windowHours
        let trial = PocketDayTrial(settings)
        let policy = PhonePolicy(trial)
        let model = try policy.model(labels: trial.labels.count)
        var pairs: [(expected: Double, real: Double)] = []
        for message in stride(from: 0, to: trial.test.count, by: 3) {
            for (wake, score) in policy.predictions(model, message: message).scores.enumerated() {
                pairs.append(
                    (model.calibration.probability(score), trial.probabilities[message * trial.test.wakeCount + wake]))
            }
        }
        pairs.sort { $0.expected < $1.expected }
        calibration = (0..<10).map { tenth in
            let part = pairs[tenth * pairs.count / 10..<(tenth + 1) * pairs.count / 10]
            return (PocketDayTrial.mean(part.map(\.expected)), PocketDayTrial.mean(part.map(\.real)))
        }
        let choices = policy.choices(model)
        let spacing = max(trial.test.count / 6, 1)
        windows = stride(from: spacing / 2, to: trial.test.count, by: spacing).prefix(6).map { message in
            let (scores, rule) = policy.predictions(model, message: message)
            let row = message * trial.test.wakeCount
            let start = PocketDay.hour(trial.test.starts[message])
            return SampleWindow(
                title: String(format: "from %d:%02d", Int(start), Int((start * 60).rounded()) % 60),
                scores: scores.map(Logistic.probability), thresholds: rule.continuationValues,
                arrived: (0..<trial.test.wakeCount).map { trial.test.arrived[row + $0] }, shown: choices[message])
        }
    }

    func html() -> String {
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8"><title>Moments</title><style>
        body { font: 15px/1.5 system-ui, sans-serif; max-width: 860px; margin: 2em auto; padding: 0 1em; color: #222 }
        svg { display: block; margin: 1em 0; max-width: 100% } text { font: 12px system-ui, sans-serif; fill: #333 }
        .windows { display: grid; grid-template-columns: repeat(auto-fit, minmax(260px, 1fr)); gap: 1em }
        </style></head><body>
        <h1>Moments in PocketDay</h1>
        <p>Seed \(evaluation.seed), \(evaluation.users) people, windows of \(windowHours) hours.</p>
        <h2>Lift of opens over immediate delivery</h2>
        \(lifts())
        <h2>Calibration</h2>
        <p>Predicted and true open rate in tenths of all wakes, with all labels. On the line they agree.</p>
        \(calibrationPlot())
        <h2>Why shown then</h2>
        <p>Sample windows: the probability of an open at each wake, on the scale of decisions (dots; hollow where the
        wake did not arrive), what waiting is worth (line), and where the message was shown (ring). The last dot is the
        deadline.</p>
        <div class="windows">\(windows.map(windowPlot).joined(separator: "\n"))</div>
        </body></html>
        """
    }

    private func lifts() -> String {
        let rows = Evaluation.policies.map { ($0, evaluation.lift[$0] ?? 0) }
        let high = max(rows.map(\.1).max() ?? 1, 0.01)
        let low = min(rows.map(\.1).min() ?? 0, 0)
        let scale = 560 / (high - low)
        let zero = 170 - low * scale
        let bars = rows.enumerated().map { index, row in
            let y = index * 26
            let start = min(zero, zero + row.1 * scale)
            let color =
                row.0.hasPrefix("model") ? "#2563eb" : row.0.contains("oracle") || row.0 == "prophet" ? "#bbb" : "#777"
            let (width, end) = (abs(row.1) * scale, max(zero, zero + row.1 * scale) + 6)
            return """
                <text x="0" y="\(y + 15)">\(row.0.replacingOccurrences(of: "_", with: " "))</text>\
                <rect x="\(short(start))" y="\(y + 3)" width="\(short(width))" height="16" fill="\(color)"/>\
                <text x="\(short(end))" y="\(y + 15)">\(Evaluation.percent(row.1))</text>
                """
        }
        return """
            <svg viewBox="0 0 800 \(rows.count * 26 + 4)" role="img" aria-label="Lift by policy">
            \(bars.joined(separator: "\n"))
            <line x1="\(short(zero))" x2="\(short(zero))" y1="0" y2="\(rows.count * 26)" stroke="#222"/></svg>
            """
    }

    private func calibrationPlot() -> String {
        let high = (calibration.flatMap { [$0.expected, $0.opened] }.max() ?? 0.1) * 1.1
        func pixels(_ value: Double) -> Double { value / high * 280 }
        let points = calibration.map {
            circle(short(50 + pixels($0.expected)), short(290 - pixels($0.opened)), 4, "fill='#2563eb'")
        }
        return """
            <svg viewBox="0 0 360 330" width="360" role="img" aria-label="Calibration">
            <rect x="50" y="10" width="280" height="280" fill="none" stroke="#ccc"/>
            <line x1="50" y1="290" x2="330" y2="10" stroke="#ccc"/>\(points.joined())
            <text x="150" y="325">predicted</text><text x="50" y="306">0</text>
            <text x="296" y="306">\(Evaluation.percent(high))</text><text x="0" y="18">true</text></svg>
            """
    }

    private func windowPlot(_ window: SampleWindow) -> String {
        let high = max((window.scores + window.thresholds).max() ?? 0.1, 0.01) * 1.1
        let step = 230 / Double(max(window.scores.count - 1, 1))
        func point(_ index: Int, _ value: Double) -> (x: String, y: String) {
            (short(20 + Double(index) * step), short(120 - value / high * 105))
        }
        let line = window.thresholds.enumerated().map { index, value in
            let centre = point(index, value)
            return "\(centre.x),\(centre.y)"
        }
        let dots = window.scores.enumerated().map { index, value in
            let centre = point(index, value)
            let isSeen = window.arrived[index] || index == window.scores.count - 1
            let ring =
                circle(centre.x, centre.y, 7, "fill='none' stroke='#d97706' stroke-width='2'")
            return
                circle(centre.x, centre.y, 3, "fill='\(isSeen ? "#2563eb" : "#fff")' stroke='#2563eb'")
                + (index == window.shown ? ring : "")
        }
        return """
            <svg viewBox="0 0 270 145" role="img" aria-label="Window \(window.title)">
            <line x1="15" x2="260" y1="120" y2="120" stroke="#ccc"/>
            <polyline points="\(line.joined(separator: " "))" fill="none" stroke="#777"/>\(dots.joined())
            <text x="20" y="138">\(window.title)</text><text x="200" y="12">\(Evaluation.percent(high))</text></svg>
            """
    }

    private func circle(_ x: String, _ y: String, _ radius: Int, _ style: String) -> String {
        "<circle cx='\(x)' cy='\(y)' r='\(radius)' \(style)/>"
    }

    private func short(_ value: Double) -> String { String(format: "%.1f", value) }
}
