internal import HTTPTypes
internal import Logging
internal import PealCore
internal import PealShapes

/// The path of the Richie Push API: `POST /push/v2/admin/task`.
struct RichieRoutes: Sendable {
    private let services: APIServices
    private let shapes: RichieShapes

    init(_ services: APIServices) {
        self.services = services
        shapes = RichieShapes(services.options)
    }

    var all: [Endpoint] { [Endpoint(.post, "/push/v2/admin/task", .richie(.send), send)] }

    private func send(_ call: Call) async throws -> Answer {
        let apps = try await services.store.read { try call.apps(in: $0) }
        // The body names the app: before it is read, it may be lenient if one of the key's apps allows that.
        let body = try call.object(isLenient: apps.contains { $0.settings[RichieSettings.lenientJSON] })
        let app = try await app(try RichieShapes.app.value(of: body, .tolerant, now: call.now), of: apps)
        if apps.count > 1, !app.settings[RichieSettings.lenientJSON] { _ = try call.object() }
        let task = try shapes.task.value(of: body, .tolerant, now: call.now)
        let (draft, warnings) = try task.draft(
            id: services.newMessageID(at: call.now), app: app, now: call.now, services.options)
        let records = try await services.sendingFacts(app, for: call.caller).credentials
        try services.verbs.preview.check(draft, app: app, records, spelling: RichieSpelling.path)
        let reply = try await services.verbs.messages.send(draft, call.verb) { [logger = services.logger] accepted in
            Self.log(
                accepted.audienceEstimate == 0 ? warnings + ["it reaches no device"] : warnings, draft, app, logger)
            return Reply(status: 201, ["task_id": .string(accepted.id.description)])
        }
        var answer = Answer(reply)
        answer.warn(warnings)
        return answer
    }

    /// The one of the key's apps that the request names.
    /// - Parameter name: its `richie_app_id` or its id.
    /// - Throws: `forbidden` for another app of this server, `not_found` for an unknown one.
    private func app(_ name: String, of apps: [App]) async throws -> App {
        let found = apps.first { app in
            app.dialectIDs[.richie]?.utf8.elementsEqual(name.utf8) ?? false || AppID(name) == app.id
        }
        if let found { return found }
        let isKnown = try await services.store.read { store in
            try store.hasApp(dialect: .richie, id: name) || AppID(name).map { try store.app($0) != nil } ?? false
        }
        throw isKnown
            ? PealError(.forbidden, "these credentials belong to another app", field: "app_id")
            : PealError(.notFound, "app not found", field: "app_id")
    }

    /// Logs warnings about an accepted task for the operator, without any of its content.
    private static func log(_ warnings: [String], _ draft: MessageDraft, _ app: App, _ logger: Logger) {
        for warning in warnings {
            logger.warning(
                "about a Richie task: \(warning)", metadata: ["app": "\(app.id)", "message": "\(draft.id)"])
        }
    }
}
