internal import PealCore

/// The home page's figures of the first apps: traffic, routes, waiting work, and reasons.
struct HomeFigures: Sendable {
    /// More would make the page slow.
    static let appsMax = 10
    /// How many messages of each app are read for the reasons.
    static let messagesMax = 10
    private static let hours: Int64 = 24

    private struct Line: Sendable {
        let traffic: Traffic
        let routes: [RouteVerbs.Item]
    }

    /// The traffic of these apps together.
    let traffic: Traffic
    let outcomes: OutcomeCounts
    /// What needs attention, besides credentials.
    let attention: [HTML]
    private let lines: [AppKey: Line]

    static func read(_ call: PageCall, _ apps: [App]) async throws -> HomeFigures {
        let (now, from) = (call.now, Traffic.start(hours: hours, now: call.now))
        var (all, outcomes, attention, lines): ([Statistics], OutcomeCounts, [HTML], [AppKey: Line]) = (
            [], OutcomeCounts(), [], [:]
        )
        for app in apps.prefix(appsMax) {
            let (counted, total) = try await call.list(.heavy) { store, _ in
                (
                    try store.statistics(app: app.key, from: from, to: now + .seconds(1)),
                    try AppProblems.outcomes(of: app, from: from, limit: messagesMax, in: store)
                )
            }
            let routes = try await call.services.verbs.routes.list(app: app.key, now: now)
            attention += try await AppProblems.attention(call, app, [], routes, name: app.name)
            all += counted
            outcomes.add(total)
            lines[app.key] = Line(traffic: Traffic(counted, hours: hours, now: now), routes: routes)
        }
        return HomeFigures(
            traffic: Traffic(all, hours: hours, now: now), outcomes: outcomes, attention: attention, lines: lines)
    }

    /// One row for each app.
    func table(_ call: PageCall, _ apps: [App]) -> ListTable {
        let texts = call.texts
        var table = ListTable(
            caption: texts[.apps],
            columns: [
                texts[.app], texts[.acceptedInDay], texts[.notAccepted], texts[.ways], texts[.pending], texts[.oldest],
            ], numbers: [1, 2, 4])
        let none: HTML = "<span class=\"none\">–</span>"
        table.rows = apps.map { app in
            let title: HTML = """
                <a class="title" href="/console/apps/\(app.id.description)/">\(app.name)</a>\
                \(HTML.with(app.bundleID) { "<p class=\"hint\">\($0)</p>" })
                """
            guard let line = lines[app.key] else { return [title, none, none, none, none, none] }
            let sum = line.traffic.sum
            return [
                title, call.number(sum?.accepted ?? 0), call.number(sum?.notAccepted ?? 0), routes(call, line),
                call.number(line.routes.reduce(0) { $0 + $1.load.pending }),
                call.time(line.routes.compactMap(\.load.oldestAt).min()),
            ]
        }
        return table
    }

    private func routes(_ call: PageCall, _ line: Line) -> HTML {
        guard !line.routes.isEmpty else { return "<span class=\"none\">–</span>" }
        return HTML.each(line.routes) { route in
            let state = route.state == .open ? "" : ": \(call.texts.way(route.state))"
            return "\(call.badge(call.texts.route(route) + state, AppPage.tone(route.state))) "
        }
    }
}
