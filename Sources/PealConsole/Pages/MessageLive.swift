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

    /// - Parameter samples: Devices for each reason.
    static func fragment(_ call: PageCall, _ report: MessageReport, samples: [String: [DeviceID]]) -> HTML {
        let texts = call.texts
        let total = report.total
        return """
            <section class="card progress" data-settled="\(total.settled)" data-devices="\(total.devices)">
            <div class="row"><p>\(call.badge(report.message.state))</p>\
            <p class="figure">\(isAudienceKnown(report) ? settled(call, report) : "\(texts[.notStarted])")</p></div>
            \(call.outcomes(total))
            \(figures(call, total, report))
            </section>
            <div class="columns">
            <section><h2>\(texts[.reasons])</h2>\(reasons(call, total, samples))</section>
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
    private static func settled(_ call: PageCall, _ report: MessageReport) -> HTML {
        let (texts, total) = (call.texts, report.total)
        return """
            <strong>\(texts.number(total.settled))</strong> \(texts.count(total.devices, .ofDevice, .ofDevices))\
            \(HTML.with(remaining(call, report)) { "<span class=\"remaining\">\($0)</span>" })
            """
    }

    /// How long the rest takes at the average pace so far; nil before anything is known.
    private static func remaining(_ call: PageCall, _ report: MessageReport) -> String? {
        let (total, message) = (report.total, report.message)
        guard message.state == .sending, message.windowUntil == nil, let first = message.firstSentAt,
            total.settled > 0, total.pending > 0
        else { return nil }
        let now = max(call.services.time.now, first + .milliseconds(1))
        let seconds = Double((now - first).milliseconds) / 1000 * Double(total.pending) / Double(total.settled)
        return call.texts.remaining(seconds: seconds)
    }

    /// The devices to show for the report's reasons.
    static func samples(_ call: PageCall, _ report: MessageReport) async throws -> [String: [DeviceID]] {
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
        table.rows = total.reasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(50).map { reason, count in
            ["<code>\(reason)</code>", call.number(count), HTML.each(samples[reason] ?? []) { call.shortLink($0) }]
        }
        return table.html
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

    /// Server-sent events: `progress` with the fragment whenever it changes, and `end` with the last one.
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
            var last: HTML?
            var (idle, turn) = (0, 0)
            while !Task.isCancelled, !Task.isShuttingDownGracefully {
                // A session ends with its key.
                turn += 1
                if turn.isMultiple(of: turnsPerCheck), try await !isSignedIn(call) { break }
                guard let report = try await call.services.store.read({ try $0.report(app: app, id: id) }) else {
                    break
                }
                let isOver = report.message.state.isFinal
                let fragment = fragment(call, report, samples: try await samples(call, report))
                idle = fragment == last ? idle + 1 : 0
                if fragment != last || isOver {
                    try await writer.write(event(isOver ? "end" : "progress", fragment))
                    last = fragment
                } else if idle.isMultiple(of: 20) {
                    try await writer.write(ByteBuffer(string: ": still here\n\n"))
                }
                if isOver { break }
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
