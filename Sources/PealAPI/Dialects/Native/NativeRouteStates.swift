internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// `GET …/routes`: whether the app's push networks can be used, and what is waiting for them.
struct NativeRouteStates: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] { [Endpoint(.get, "\(app)/routes", .app(.read), list)] }

    private func list(_ call: Call) async throws -> Answer {
        let items = try await services.verbs.routes.list(app: try call.app().key, now: call.now)
        return Answer(.ok, ["items": .array(items.map(Self.json))])
    }

    private static func json(_ item: RouteVerbs.Item) -> JSON {
        .compact([
            ("provider", .string(item.provider.rawValue)), ("environment", .string(item.environment.rawValue)),
            ("state", .string(item.state.rawValue)), ("reason", item.reason.map(JSON.string)),
            ("until", item.until.map { .string($0.description) }), ("pending", .integer(item.load.pending)),
            ("oldest_pending_at", item.load.oldestAt.map { .string($0.description) }),
        ])
    }
}

extension NativeDocument {
    static let routes: [APIOperation] = [
        APIOperation(
            id: "listRoutes", method: .get, path: "\(app)/routes",
            summary: "Show whether push networks can be used, and what waits for them",
            answers: [APIAnswer(200, "All routes.", .object([.required("items", .list(route))]))])
    ]

    private static let route = Schema.component(
        "NativeRoute",
        .object([
            .required("provider", .words(ProviderName.allCases.map(\.rawValue))),
            .required("environment", shownEnvironment), .required("state", .words(RouteGate.Status.self)),
            .optional("reason", Schema.text.described("Why it is not open.")),
            .optional("until", Schema.time.described("When it is tried again.")),
            .required("pending", Schema.count.described("Devices without an outcome, by estimate.")),
            .optional(
                "oldest_pending_at", Schema.time.described("When the oldest message that waits was accepted.")),
        ]))
}
