internal import HTTPTypes
internal import PealCore

/// What monitors ask, and this document itself.
enum OperationsDocument {
    static var document: DialectDocument {
        DialectDocument(
            name: "Operations", text: "What monitors ask, and this document itself.", envelope: .native,
            refusal: NativeDocument.refusal, operations: [alive, ready, metrics, openAPI],
            schemas: [("OperationsReadiness", readiness)])
    }

    private static let alive = APIOperation(
        id: "healthz", method: .get, path: "/healthz", summary: "Whether the process lives",
        answers: [APIAnswer(200, "It does.", .object([.required("status", .word("ok"))]))])

    private static let ready = APIOperation(
        id: "readyz", method: .get, path: "/readyz", summary: "Whether every subsystem works",
        text:
            "The admin token is also told `failures` and `stopped`. A stopped app does not make the server unready.",
        answers: [
            APIAnswer(200, "Everything works.", .named("OperationsReadiness")),
            APIAnswer(503, "Something does not.", .named("OperationsReadiness")),
        ])

    private static let metrics = APIOperation(
        id: "metrics", method: .get, path: "/metrics", summary: "Metrics for Prometheus",
        answers: [APIAnswer(200, "The text exposition.", .text, mediaType: "text/plain")])

    private static let openAPI = APIOperation(
        id: "openapi", method: .get, path: "/openapi.json", summary: "This document",
        parameters: [.header("If-None-Match", .text, "The `ETag` of an earlier answer.")],
        answers: [
            APIAnswer(
                200, "The document.", .object([.required("openapi", .text)]),
                headers: [(name: "ETag", schema: .text, text: "Changes with the document.")]),
            APIAnswer(304, "It is still the same."),
        ])

    private static let state = Schema.words(["ok", "failed"])

    private static let readiness = Schema.object([
        .required("status", state), .required("subsystems", .map(state)), .required("stopped_apps", .count),
        .optional("failures", .map(.text)),
        .optional(
            "stopped",
            .list(
                .object([
                    .required("app", .uuid), .required("provider", .words(ProviderName.self)),
                    .optional("environment", .words(Environment.self)), .optional("since", .time),
                    .optional("reason", .text),
                ]))),
    ])
}
