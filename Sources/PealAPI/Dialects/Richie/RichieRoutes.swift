internal import HTTPTypes
internal import Logging
internal import PealCore
internal import PealShapes

/// The path of the Richie Push API.
struct RichieRoutes: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var all: [Endpoint] { RichieTasks(services).endpoints }
}

/// `POST /push/v2/admin/task`.
struct RichieTasks: Sendable {
    private let services: APIServices
    private let shapes: RichieShapes

    init(_ services: APIServices) {
        self.services = services
        shapes = RichieShapes(services.options)
    }

    var endpoints: [Endpoint] { [Endpoint(.post, "/push/v2/admin/task", .richie(.send), send)] }

    private func send(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let body = try call.object(allowsTrailingCommas: app.settings[RichieSettings.lenientJSON])
        try await check(try RichieShapes.app.value(of: body, .tolerant, now: call.now), of: app)
        let task = try shapes.task.value(of: body, .tolerant, now: call.now)
        let (draft, warnings) = try task.draft(
            id: services.newMessageID(at: call.now), app: app, now: call.now, services.options)
        let records = try await services.credentialRecords(app)
        try services.preview.check(draft, app: app, records, spelling: RichieSpelling.path)
        let reply = try await services.messages.send(draft, call.verb) { [logger = services.logger] accepted in
            Self.log(accepted.audienceEstimate == 0 ? warnings + ["it reaches no device"] : warnings, draft, logger)
            return Reply(status: 201, ["task_id": .string(accepted.id.description)])
        }
        return Answer(reply)
    }

    /// - Parameter name: the app's name in the request: its `richie_app_id` or its id.
    /// - Throws: `forbidden` for another app of this server, `not_found` for an unknown one.
    private func check(_ name: String, of app: App) async throws {
        let own = [app.dialectIDs[.richie], app.id.description].compactMap { $0 }
        if own.contains(where: { $0.utf8.elementsEqual(name.utf8) }) { return }
        let isKnown = try await services.store.read { store in
            try store.hasApp(dialect: .richie, id: name) || AppID(name).map { try store.app($0) != nil } ?? false
        }
        throw isKnown
            ? PealError(.forbidden, "these credentials belong to another app", field: "app_id")
            : PealError(.notFound, "app not found", field: "app_id")
    }

    /// Logs warnings about an accepted task for the operator, without any of its content.
    private static func log(_ warnings: [String], _ draft: MessageDraft, _ logger: Logger) {
        for warning in warnings {
            logger.warning(
                "about a Richie task: \(warning)", metadata: ["app": "\(draft.app)", "message": "\(draft.id)"])
        }
    }
}
