internal import HTTPTypes
internal import Logging
internal import PealCore

/// The path of the Richie Push API.
struct RichieRoutes: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var all: [Endpoint] { RichieTasks(services).endpoints }
}

/// `POST /push/v2/admin/task`.
struct RichieTasks: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] { [Endpoint(.post, "/push/v2/admin/task", .richie(.send), send)] }

    private func send(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let body = try Tolerance(try call.object(allowsTrailingCommas: app.settings[RichieSettings.lenientJSON]))
        let name = try await appID(body, of: app)
        let reader = RichieReader(limits: services.options)
        let (draft, warnings) = try reader.draft(
            body, id: services.newMessageID(at: call.now), app: app, name: name, now: call.now)
        try services.preview.checkRichie(draft, app: app, try await services.credentialRecords(app))
        let reply = try await services.messages.send(draft, call.verb) { [logger = services.logger] accepted in
            Self.log(accepted.audienceEstimate == 0 ? warnings + ["it reaches nobody"] : warnings, draft, logger)
            return Reply(status: 201, ["task_id": .string(accepted.id.description)])
        }
        return Answer(reply)
    }

    /// The app's name in the request, as sent: its `richie_app_id` or its id.
    /// - Throws: `forbidden` for another app of this server, `not_found` for an unknown one.
    private func appID(_ body: Tolerance, of app: App) async throws -> String {
        guard let name = try body.text("app_id") else { throw PealError.missing("app_id") }
        let own = [app.dialectIDs[.richie], app.id.description].compactMap { $0 }
        if own.contains(where: { $0.utf8.elementsEqual(name.utf8) }) { return name }
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
