internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Health checks and metrics.
struct HealthRoutes: Sendable {
    private let services: APIServices
    private let gatekeeper: Gatekeeper

    /// How long the store may take to find the caller.
    private static let patience = Duration.seconds(2)
    /// Whether admins see reasons and details.
    private let showsDetails: Bool

    init(_ services: APIServices, showsDetails: Bool) {
        self.services = services
        self.showsDetails = showsDetails
        gatekeeper = Gatekeeper(services)
    }

    var all: [Endpoint] {
        [
            Endpoint(.get, "/healthz", .everybody) { _ in Answer(.ok, ["status": "ok"]) },
            Endpoint(.get, "/readyz", .everybody, ready), ErrorPage.endpoint,
        ]
    }

    var metrics: [Endpoint] {
        [
            Endpoint(.get, "/metrics", .everybody) { [services] _ in
                Answer(
                    text: await services.operations.metrics(), type: "text/plain; version=0.0.4; charset=utf-8")
            }
        ]
    }

    /// Whether each subsystem works. Only admins see why one does not, and which apps are stopped.
    private func ready(_ call: Call) async throws -> Answer {
        // All at once, because a store that does not respond delays each of them.
        async let isAdmin = isAdmin(call)
        async let stoppedApps = services.operations.stoppedApps()
        let subsystems = await services.operations.readiness()
        let isReady = subsystems.allSatisfy { $0.failure == nil }
        let states = subsystems.map { ($0.subsystem, JSON.string($0.failure == nil ? "ok" : "failed")) }
        var members = JSON.Members([
            ("status", isReady ? "ok" : "failed"), ("subsystems", .object(JSON.Members(states))),
            ("stopped_apps", .integer(await stoppedApps)),
        ])
        if await isAdmin {
            let reasons = subsystems.compactMap { name, failure in failure.map { (name, JSON.string($0)) } }
            members["failures"] = .object(JSON.Members(reasons))
            members["stopped"] = .array(await services.operations.stoppedCredentials().map(Self.json))
            for (name, value) in await services.operations.details().pairs { members[name] = value }
            let configured = services.options.shownConfiguration.sorted { $0.key < $1.key }
            members["configuration"] = .object(JSON.Members(configured.map { ($0.key, .string($0.value)) }))
        }
        return Answer(isReady ? .ok : .serviceUnavailable, .object(members))
    }

    /// Whether the caller sees details. While the store does not respond, it may not know the caller's token.
    private func isAdmin(_ call: Call) async -> Bool {
        guard showsDetails else { return false }
        let (gatekeeper, headers, address) = (gatekeeper, call.headers, call.visit.address)
        return await services.time.value(within: Self.patience) {
            await gatekeeper.isAdmin(headers, from: address)
        } ?? false
    }

    private static func json(_ app: AppID, _ record: CredentialRecord) -> JSON {
        var members: [(String, JSON?)] = [
            ("app", .string(app.description)), ("provider", .string(record.provider.rawValue)),
            ("environment", record.provider.hasEnvironments ? .string(record.environment.rawValue) : nil),
        ]
        if case .stopped(let at, let reason) = record.health {
            members += [("since", .string(at.description)), ("reason", .string(reason))]
        }
        return .compact(members)
    }
}

/// The document of health checks, metrics and the OpenAPI document itself.
enum OperationsDocument {
    static var document: DialectDocument {
        DialectDocument(
            name: "Operations", text: "Health checks, metrics and this document.", dialect: NativeDialect(),
            refusal: NativeDocument.refusal, operations: [alive, ready, metrics, openAPI, ErrorPage.operation],
            schemas: [("OperationsReadiness", readiness)])
    }

    private static let alive = APIOperation(
        id: "healthz", method: .get, path: "/healthz", summary: "Check that the process is running",
        answers: [APIAnswer(200, "It is running.", .object([.required("status", .word("ok"))]))])

    private static let ready = APIOperation(
        id: "readyz", method: .get, path: "/readyz", summary: "Check that every subsystem works",
        text:
            """
            With an admin's token the answer also has `failures`, `stopped`, `configuration` and details. A stopped \
            app does not make the server unready.
            """,
        answers: [
            APIAnswer(200, "Everything works.", .named("OperationsReadiness")),
            APIAnswer(503, "At least one subsystem does not work.", .named("OperationsReadiness")),
        ])

    private static let metrics = APIOperation(
        id: "metrics", method: .get, path: "/metrics", summary: "Metrics for Prometheus",
        answers: [APIAnswer(200, "Metrics in Prometheus text format.", .text, mediaType: "text/plain")])

    private static let openAPI = APIOperation(
        id: "openapi", method: .get, path: "/openapi.json", summary: "This document",
        parameters: [.header("If-None-Match", .text, "The `ETag` of an earlier answer.")],
        answers: [
            APIAnswer(
                200, "The document.", .object([.required("openapi", .text)]),
                headers: [(name: "ETag", schema: .text, text: "Identifies this version of the document.")]),
            APIAnswer(304, "It has not changed."),
        ])

    private static let state = Schema.words(["ok", "failed"])

    private static let readiness = Schema.object([
        .required("status", state), .required("subsystems", .map(state)), .required("stopped_apps", .count),
        .optional("failures", .map(.text)), .optional("configuration", .map(.text)),
        .optional(
            "stopped",
            .list(
                .object([
                    .required("app", .uuid), .required("provider", .words(ProviderName.self)),
                    .optional("environment", .words(Environment.self)), .optional("since", .time),
                    .optional("reason", .text),
                ]))),
        .optional("version", .text), .optional("started_at", .time), .optional("paused", .flag),
        .optional("connections", .count), .optional("memory_bytes", .count), .optional("store_bytes", .count),
        .optional(
            "messages",
            .object([
                .required("unfinished", .count), .required("scheduled", .count),
                .required("oldest_pending_at", Schema.time.orNull),
            ])),
        .optional("quarantined_slices", .count),
        .optional(
            "closed_routes",
            .list(
                .object([
                    .required("app", .uuid), .required("provider", .text),
                    .required("environment", .words(Environment.self)), .required("platform", .text),
                    .required("state", .words(["paused", "stopped"])), .required("slices", .count),
                    .required("oldest_pending_at", .time),
                ]))),
    ])
}
