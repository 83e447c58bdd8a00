internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import PealCore
internal import PealShapes

/// The audit log: who did what to which object.
struct NativeAudit: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.get, "/peal/v1/audit", .admin) { call in try await list(call, app: nil) },
            Endpoint(.post, "/peal/v1/audit:verify", .admin, verify),
            Endpoint(.get, "\(app)/audit", .app(.manage)) { call in try await list(call, app: try call.app()) },
        ]
    }

    static let linesType = "application/x-ndjson"

    /// A page, newest first; or every row as JSON lines, oldest first.
    private func list(_ call: Call, app: App?) async throws -> Answer {
        let list = try NativeList(call.query, by: .number)
        let filter = try Self.filter(call, app: app?.id)
        let wantsLines = Self.wantsLines(call.headers[.accept])
        if wantsLines, let name = ["limit", "cursor"].first(where: { call.query[$0] != nil }) {
            throw PealError.invalid(name, "\(name) is not allowed with \(Self.linesType), which returns every row")
        }
        try await AccessRecorder(services).write()
        if wantsLines { return lines(filter) }
        let (rows, isComplete) = try await services.verbs.audit.rows(
            filter, before: list.number, limit: list.fetchCount)
        return list.answer(rows, isComplete: isComplete, cursor: { NativeList.bytes($0.number) }, json: \.json)
    }

    private static func wantsLines(_ accept: String?) -> Bool {
        (accept ?? "").split(separator: ",").contains { type in
            type.prefix { $0 != ";" }.lowercased().filter { !$0.isWhitespace } == linesType
        }
    }

    private static func filter(_ call: Call, app: AppID?) throws(PealError) -> AuditFilter {
        let span = try NativeSpan(call.query)
        var app = app
        // A deleted app no longer has a path.
        if app == nil, let text = call.query.given("app") {
            guard let id = AppID(text) else { throw .invalid("app", "app must be a UUID") }
            app = id
        }
        return AuditFilter(
            app: app, from: span.from, to: span.to, actor: call.query["actor"], action: call.query["action"])
    }

    /// Rows read at a time.
    private static let exportedAtOnce = 500

    private func lines(_ filter: AuditFilter) -> Answer {
        var answer = Answer(.ok)
        answer.headers[.contentType] = Self.linesType
        answer.stream = ResponseBody { [audit = services.verbs.audit] writer in
            var last: Int64 = 0
            while true {
                let rows = try await audit.rows(filter, after: last, limit: Self.exportedAtOnce)
                guard let end = rows.last else { break }
                var buffer = ByteBuffer()
                for row in rows {
                    buffer.writeBytes(row.json.bytes)
                    buffer.writeInteger(UInt8(ascii: "\n"))
                }
                try await writer.write(buffer)
                last = end.number
            }
            try await writer.finish(nil)
        }
        return answer
    }

    private func verify(_ call: Call) async throws -> Answer {
        if let request = call.idempotent, let kept = try await services.store.answer(keptFor: request, now: call.now) {
            return Answer(kept)
        }
        try await AccessRecorder(services).write()
        return try await services.answer(try await verdict(), keptFor: call)
    }

    private func verdict() async throws -> JSON {
        switch try await services.verbs.audit.verify() {
        case .sound(let rows), .incomplete(_, _, let rows): return ["ok": true, "rows": .integer(rows)]
        case .broken(let number, let reason):
            services.logger.error(
                "the audit log was changed", metadata: ["row": .stringConvertible(number), "reason": "\(reason)"])
            let row = try await services.verbs.audit.rows(AuditFilter(), after: number - 1, limit: 1).first
            return .compact([
                ("ok", false), ("row", .integer(number)),
                ("id", row.flatMap { $0.number == number ? .string($0.id.description) : nil }),
                ("reason", .string(reason)),
            ])
        }
    }
}

extension NativeDocument {
    static let audit: [APIOperation] = [
        APIOperation(
            id: "listAudit", method: .get, path: "/peal/v1/audit", summary: "List who changed what, newest first",
            text: exportText,
            parameters: auditParameters + [.query("app", .uuid, "Only rows of that app, even if it was deleted.")],
            answers: [list(of: "NativeAuditRow", auditRow)]),
        APIOperation(
            id: "listAppAudit", method: .get, path: "\(app)/audit",
            summary: "List who changed what in an app, newest first", text: exportText, parameters: auditParameters,
            answers: [list(of: "NativeAuditRow", auditRow)]),
        APIOperation(
            id: "verifyAudit", method: .post, path: "/peal/v1/audit:verify",
            summary: "Check that no row of the audit log was changed, added or deleted",
            answers: [
                APIAnswer(
                    200, "Whether the log is as it was written.",
                    .object([
                        .required("ok", .flag), .optional("rows", .count), .optional("row", .count),
                        .optional("id", .uuid), .optional("reason", .text),
                    ]))
            ], namesIdempotencyKey: false),
    ]

    private static let exportText = """
        With `Accept: application/x-ndjson` the answer has all rows, oldest first, one JSON object a line; `limit` \
        and `cursor` are not allowed then. `hash` is the SHA-256 in hexadecimal of the hash of the row before (nothing \
        before the first row), a line feed, and the row without `hash` as compact JSON.
        """

    private static let auditParameters =
        page(.number) + [
            .query("from", .time, "Only rows from this instant on."),
            .query("to", .time, "Only rows before this instant."),
            .query("actor", .text, "The id or the name of an actor."),
            .query("action", .text, "An action such as `key.create`, or its first word."),
        ]

    private static let auditRow = Schema.component(
        "NativeAuditRow",
        .object([
            .required("id", .uuid), .required("at", .time),
            .required("actor", Schema.text.described("`admin`, the id of a key or an admin, or a part of the server.")),
            .required("actor_name", Schema.text.orNull), .required("address", Schema.text.orNull),
            .required("request_id", Schema.text.orNull), .required("app", Schema.uuid.orNull),
            .required("action", .text), .required("object", .text),
            .required("outcome", .words(AuditEntry.Outcome.self)), .required("hash", .text(pattern: "[0-9a-f]{64}")),
        ]))
}
