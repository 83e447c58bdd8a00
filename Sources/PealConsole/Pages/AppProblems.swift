internal import PealCore

/// The problems of an app: what needs attention, and why devices recently did not receive messages.
enum AppProblems {
    /// How many of the latest messages count.
    private static let messagesMax = 50
    private static let reasonsShown = 8
    private static let webhooksMax = 100

    /// Credentials that were refused or end soon, routes that do not send, and webhooks that are disabled.
    /// - Parameter name: the app's name, on a page with several apps.
    static func attention(
        _ call: PageCall, _ app: App, _ records: [CredentialRecord], _ routes: [RouteVerbs.Item], name: String? = nil
    ) async throws -> [HTML] {
        let texts = call.texts
        let (base, label) = ("/console/apps/\(app.id)/", name.map { "\($0) · " } ?? "")
        let refused = records.filter { record in
            if case .stopped = record.health { return true }
            return record.expiryWarning(at: call.now) != nil
        }
        let webhooks = try await call.list { store, _ in
            try store.webhooks(app: app.key, after: nil, limit: webhooksMax)
        }.filter { $0.disabledAt != nil }
        return refused.map { Attention.item(call, $0, app: name, id: app.id) }
            + closed(call, app, routes, label: label)
            + webhooks.map { webhook in
                let path = "\(base)webhooks/\(URLPath.segment(webhook.name))"
                let title: HTML =
                    call.may(.manage) ? "<a href=\"\(path)\">\(label)\(webhook.name)</a>" : "\(webhook.name)"
                return "<li>\(title): \(texts[.webhookIsDisabled]) \(call.time(webhook.disabledAt))</li>"
            }
    }

    /// Routes that do not send although devices wait for them.
    private static func closed(
        _ call: PageCall, _ app: App, _ routes: [RouteVerbs.Item], label: String = ""
    ) -> [HTML] {
        let texts = call.texts
        return routes.filter { $0.state != .open && $0.load.pending > 0 }.map { route in
            """
            <li><a href="/console/apps/\(app.id.description)/#routes">\(label)\(texts.route(route))</a>: \
            \(texts.way(route.state)). \(texts.count(route.load.pending, .deviceWaitsSince, .devicesWaitSince)) \
            \(call.time(route.load.oldestAt))</li>
            """
        }
    }

    /// Why a message that is being sent may not get on.
    /// - Parameter environment: the only one that it reaches; nil for both.
    static func holding(
        _ call: PageCall, _ report: MessageReport, _ environment: Environment?
    ) async throws -> HTML {
        guard report.message.state == .sending, report.total.pending > 0 else { return .empty }
        let app = try call.app
        let routes = try await call.services.verbs.routes.list(app: app.key, now: call.now)
        let own = routes.filter { report.waits(on: $0, environment) }
        return Attention.list(call, closed(call, app, own), isQuiet: true)
    }

    /// The reasons of the latest messages' devices, the most frequent first.
    static func reasons(_ call: PageCall, _ app: App, from: Timestamp) async throws -> HTML {
        let total = try await call.list(.heavy) { store, _ in
            try outcomes(of: app, from: from, limit: messagesMax, in: store)
        }
        return reasons(call, total, hint: call.texts(.failedByReasonHint, call.texts.number(messagesMax)))
    }

    /// What became of the devices of an app's latest messages.
    static func outcomes(
        of app: App, from: Timestamp, limit: Int, in store: any StoreReading
    ) throws -> OutcomeCounts {
        var filter = MessageFilter()
        filter.from = from
        return try store.messages(app: app.key, filter, before: nil, limit: limit).reduce(into: OutcomeCounts()) {
            if let report = try store.report(app: app.key, id: $1.id) { $0.add(report.total) }
        }
    }

    static func reasons(_ call: PageCall, _ total: OutcomeCounts, hint: String) -> HTML {
        let texts = call.texts
        guard !total.reasons.isEmpty else { return .empty }
        var table = ListTable(
            caption: texts[.failedByReason], columns: [texts[.reason], texts[.devices]], numbers: [1])
        table.rows = total.commonReasons.prefix(reasonsShown).map { [call.reason($0.key), call.number($0.value)] }
        return """
            <section id="reasons"><h2>\(texts[.failedByReason])</h2>\(table.html)\
            \(call.cut(table.rows.count, of: total.reasons.count))\
            <p class="hint">\(hint)</p></section>
            """
    }
}

extension MessageReport {
    /// Whether devices of the message wait on a route.
    /// - Parameter environment: the only one that the message reaches; nil for both.
    func waits(on route: RouteVerbs.Item, _ environment: Environment?) -> Bool {
        let isReached = !route.provider.hasEnvironments || route.environment == environment ?? route.environment
        return isReached
            && platforms.contains { platform, counts in
                counts.pending > 0 && Route(platform, route.environment).provider == route.provider
            }
    }
}

extension Texts {
    /// The network's name, with its environment if it has several.
    func route(_ item: RouteVerbs.Item) -> String {
        "\(item.provider.network.title)\(item.provider.hasEnvironments ? " \(item.environment.rawValue)" : "")"
    }
}
