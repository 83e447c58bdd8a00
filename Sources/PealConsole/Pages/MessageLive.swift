internal import HummingbirdCore
internal import NIOCore
internal import PealCore
internal import ServiceLifecycle
internal import Synchronization

/// The part of a message's page that changes while it is sent, and the stream that updates it.
enum MessageLive {
    static let routes: [ConsoleRoute] = [.app(.get, "messages/:id/events", .read, stream)]

    private static let interval = Duration.milliseconds(500)
    private static let turnsPerCheck = 6
    /// How long a stream waits for the last outcomes of a message that has ended.
    private static let turnsAfterEndMax = 120

    /// Whether the page may still change: the pending devices of a cancelled or expired message get their outcomes
    /// later.
    static func isLive(_ report: MessageReport) -> Bool {
        !report.message.state.isFinal || report.total.pending > 0
    }

    /// - Parameters:
    ///   - held: Why its devices may wait for a route.
    ///   - secondsLeft: How long the rest takes; nil if that is unknown.
    static func fragment(
        _ call: PageCall, _ report: MessageReport, held: HTML, secondsLeft: Double? = nil
    ) async throws -> HTML {
        let texts = call.texts
        let total = report.total
        return """
            \(held)
            <section class="card progress" data-settled="\(total.settled)" data-devices="\(total.devices)"\
            \(if: report.message.state.isFinal, " data-final")>
            <div class="row"><p>\(call.badge(report.message.state))</p>\
            <p class="figure">\(isAudienceKnown(report) ? settled(call, total, secondsLeft) : "\(texts[.notStarted])")</p></div>
            \(call.outcomes(total))
            \(figures(call, total, report))
            </section>
            <div class="columns">
            <section><h2>\(texts[.reasons])</h2>\(reasons(call, total, try await samples(call, report)))</section>
            <section><h2>\(texts[.platforms])</h2>\(platforms(call, report))</section>
            </div>
            """
    }

    /// A live chart of how fast the message is sent, which the page's script draws. It is not part of the fragment, so
    /// that its table stays open.
    static func pace(_ call: PageCall) -> HTML {
        let texts = call.texts
        let table = ListTable(caption: texts[.rate], columns: [texts[.at], texts[.rate]], numbers: [1])
        return """
            <section class="card" id="pace" hidden><h2>\(texts[.rate])</h2><figure class="chart">
            <svg class="rate" viewBox="0 0 300 40" preserveAspectRatio="none" role="img" aria-label="\(texts[.rate])"></svg>
            <figcaption class="hint" data-text="\(texts[.ratePerSecond])"></figcaption>
            <details><summary>\(texts[.asTable])</summary>\(table.html)</details></figure></section>
            """
    }

    /// Whether the message has started, or will never start.
    private static func isAudienceKnown(_ report: MessageReport) -> Bool {
        report.total.devices > 0 || report.message.cutoffAt != nil || report.message.state.isFinal
    }

    /// How many devices have their outcome, and how long the rest takes.
    private static func settled(_ call: PageCall, _ total: OutcomeCounts, _ secondsLeft: Double?) -> HTML {
        let texts = call.texts
        return """
            <strong>\(texts.number(total.settled))</strong> \(texts.count(total.devices, .ofDevice, .ofDevices))\
            \(HTML.with(secondsLeft) { "<span class=\"remaining\">\(texts.remaining(seconds: $0))</span>" })
            """
    }

    /// The devices to show for the report's reasons.
    private static func samples(_ call: PageCall, _ report: MessageReport) async throws -> [String: [DeviceID]] {
        guard !report.total.reasons.isEmpty else { return [:] }
        return try await OutcomeSamples(store: call.services.store).devices(
            of: report.message.id, app: report.message.app)
    }

    private static func figures(_ call: PageCall, _ total: OutcomeCounts, _ report: MessageReport) -> HTML {
        let texts = call.texts
        let received = Receipt.Kind.allCases.filter { $0 != .heartbeat }.compactMap { kind -> HTML? in
            guard let count = report.receipts[kind], count > 0 else { return nil }
            return "<div><dt>\(texts.receipt(kind))</dt><dd>\(texts.number(count))</dd></div>"
        }
        return """
            <dl class="figures">\(HTML.each(Outcomes.all) { item in
                """
                <div><dt><i class="dot \(item.tone)"></i>\(texts[item.word])</dt>\
                <dd data-count="\(item.name)">\(texts.number(total[keyPath: item.value]))</dd></div>
                """
            })\(received)</dl>
            """
    }

    private static func reasons(_ call: PageCall, _ total: OutcomeCounts, _ samples: [String: [DeviceID]]) -> HTML {
        let texts = call.texts
        guard !total.reasons.isEmpty else { return "<p class=\"none\">\(texts[.noReasons])</p>" }
        var table = ListTable(
            caption: texts[.reasons], columns: [texts[.reason], texts[.devices], texts[.samples]], numbers: [1])
        table.rows = total.commonReasons.map { reason, count in
            [call.reason(reason), call.number(count), HTML.each(samples[reason] ?? []) { call.shortLink($0) }]
        }
        return "\(table.html)\(call.cut(table.rows.count, of: total.reasons.count))"
    }

    private static func platforms(_ call: PageCall, _ report: MessageReport) -> HTML {
        let texts = call.texts
        guard !report.platforms.isEmpty else {
            return "<p class=\"none\">\(texts[isAudienceKnown(report) ? .nobody : .notStarted])</p>"
        }
        let total = report.total
        let shown = Outcomes.all.filter { $0.name == "accepted" || total[keyPath: $0.value] > 0 }
        var table = ListTable(
            caption: texts[.platforms], columns: [texts[.platform]] + shown.map { texts[$0.word] },
            numbers: Set(1...shown.count))
        table.rows = report.platforms.sorted { $0.key.rawValue < $1.key.rawValue }.map { platform, counts in
            ["\(texts.platform(platform))"] + shown.map { call.number(counts[keyPath: $0.value]) }
        }
        return table.html
    }

    /// Server-sent events: `actions` and `details` whenever these change, and `progress` with the fragment whenever it
    /// changes, or `end` with the last one.
    @Sendable private static func stream(_ call: PageCall) async throws -> ConsoleAnswer {
        let (app, id): (AppKey, MessageID) = (try call.app.key, try call.id("id", of: "message"))
        guard try await call.services.store.read({ try $0.message(app: app, id: id) }) != nil else {
            throw PealError.notFound("message")
        }
        guard let slot = LiveStreamSlot(of: app) else {
            throw PealError(.unavailable, "too many pages follow messages", retryAfterSeconds: 10)
        }
        return ConsoleAnswer { writer in
            defer { withExtendedLifetime(slot) {} }
            var (parts, pace) = (ShownParts(), SendingPace())
            var (draft, held): (MessageDraft?, HTML) = (nil, .empty)
            var (idle, turn, turnsAfterEnd) = (0, 0, 0)
            while !Task.isCancelled, !Task.isShuttingDownGracefully {
                // A session ends with its key.
                if turn > 0, turn.isMultiple(of: turnsPerCheck), try await !isSignedIn(call) { break }
                guard let report = try await call.services.store.read({ try $0.report(app: app, id: id) }) else {
                    break
                }
                turnsAfterEnd += report.message.state.isFinal ? 1 : 0
                let isOver = !isLive(report) || turnsAfterEnd > turnsAfterEndMax
                if isOver || turn == 0 { draft = try await call.services.store.read { try $0.draft(app: app, id: id) } }
                if isOver || turn.isMultiple(of: turnsPerCheck) {
                    held = try await AppProblems.holding(call, report, draft?.audienceEnvironment)
                }
                let secondsLeft = pace.secondsLeft(of: report, at: call.services.time.now)
                let fragment = try await fragment(
                    call, report, held: held, secondsLeft: held == .empty ? secondsLeft : nil)
                let changes = parts.changes([
                    ("actions", MessagePages.actions(call, report.message)),
                    ("details", MessagePages.details(call, report, draft)), (isOver ? "end" : "progress", fragment),
                ])
                for (name, part) in changes { try await writer.write(event(name, part)) }
                if isOver { break }
                idle = changes.isEmpty ? idle + 1 : 0
                if idle > 0, idle.isMultiple(of: 20) {
                    try await writer.write(ByteBuffer(string: ": still here\n\n"))
                }
                turn += 1
                try await call.services.time.sleep(for: interval)
            }
            try await writer.finish(nil)
        }
    }

    private static func isSignedIn(_ call: PageCall) async throws -> Bool {
        guard let cookie = call.sessionCookie else { return false }
        return try await call.console.sessions.session(cookie, now: call.services.time.now) != nil
    }

    private static func event(_ name: String, _ fragment: HTML) -> ByteBuffer {
        let lines = fragment.text.split(separator: "\n").map { "data: \($0)\n" }.joined()
        return ByteBuffer(string: "event: \(name)\n\(lines)\n")
    }
}

/// The parts of a page that a stream has sent.
private struct ShownParts {
    private var parts: [String: HTML] = [:]

    /// The parts that differ from what was sent under their name.
    mutating func changes(_ current: [(name: String, part: HTML)]) -> [(name: String, part: HTML)] {
        let changes = current.filter { parts[$0.name] != $0.part }
        for change in changes { parts[change.name] = change.part }
        return changes
    }
}

/// How fast a message is being sent, from the progress that a stream has seen. The average since it began would be
/// wrong if devices wait, such as for the end of quiet hours.
struct SendingPace {
    private static let span = Duration.seconds(60)
    private static let spanMin = Duration.seconds(2)
    private var seen: [(at: Timestamp, settled: Int)] = []

    /// How long the rest takes; nil if no device has got its outcome lately, or none waits.
    mutating func secondsLeft(of report: MessageReport, at now: Timestamp) -> Double? {
        let total = report.total
        seen.append((now, total.settled))
        seen.removeAll { $0.at < now - Self.span }
        guard report.message.state == .sending, report.message.windowUntil == nil, total.pending > 0,
            let first = seen.first, first.at + Self.spanMin <= now, first.settled < total.settled
        else { return nil }
        let seconds = Double((now - first.at).milliseconds) / 1000
        return seconds * Double(total.pending) / Double(total.settled - first.settled)
    }
}

/// One of the streams that a process may serve at once, and one of its app's. It is free again as soon as nothing
/// refers to it, because an answer to HEAD, or to a client that has gone, never writes its body.
final class LiveStreamSlot: Sendable {
    /// A page without a slot is not updated.
    static let max = 200
    static let perAppMax = 50
    private static let taken = Mutex<[AppKey: Int]>([:])

    private let app: AppKey

    /// nil if all are taken.
    init?(of app: AppKey) {
        let isFree = Self.taken.withLock { taken in
            let own = taken[app] ?? 0
            guard own < Self.perAppMax, taken.values.reduce(0, +) < Self.max else { return false }
            taken[app] = own + 1
            return true
        }
        guard isFree else { return nil }
        self.app = app
    }

    deinit {
        Self.taken.withLock { taken in
            let rest = (taken[app] ?? 1) - 1
            taken[app] = rest > 0 ? rest : nil
        }
    }
}

extension Texts {
    /// Rounded, so that it does not change with every update.
    func remaining(seconds: Double) -> String {
        if seconds < 60 { return self[.underAMinute] }
        if seconds < 5400 { return count(Int((seconds / 60).rounded()), .minuteLeft, .minutesLeft) }
        return count(Int(min(seconds / 3600, 9999).rounded()), .hourLeft, .hoursLeft)
    }

    func receipt(_ kind: Receipt.Kind) -> String {
        switch kind {
        case .received: self[.received]
        case .opened: self[.opened]
        case .shown: self[.displayed]
        case .dismissed: self[.dismissed]
        case .suppressed: self[.notAlerted]
        case .contentOpened: self[.contentOpened]
        case .heartbeat: ""
        }
    }
}
