internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Segments: named conditions that audiences refer to.
struct NativeSegments: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.get, "\(app)/segments", .app(.read), list),
            Endpoint(.get, "\(app)/segments/:segment", .app(.read), get),
            Endpoint(.put, "\(app)/segments/:segment", .app(.devices), put),
            Endpoint(.delete, "\(app)/segments/:segment", .app(.devices), delete),
        ]
    }

    static let draft = ObjectShape("NativeSegmentDraft", Condition.or([])) {
        Entry(required: "where", NativeConditionShapes.condition) { $0 = $1 }
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .name)
        let app = try call.app().key
        let (segments, isComplete) = try await services.store.checkedList {
            try $0.segments(app: app, after: list.name, limit: list.fetchCount + $1)
        }
        return list.answer(segments, isComplete: isComplete, cursor: { Array($0.name.utf8) }, json: Self.json)
    }

    private func get(_ call: Call) async throws -> Answer {
        let (app, name) = (try call.app().key, try call.text("segment"))
        guard let segment = try await services.store.read({ try $0.segment(app: app, name: name) }) else {
            throw PealError.notFound("segment")
        }
        return Answer(.ok, Self.json(segment))
    }

    private func put(_ call: Call) async throws -> Answer {
        let condition = try call.body(Self.draft.shape, .native)
        let result = try await services.verbs.segments.put(
            try call.text("segment"), condition, app: try call.app().key, call.verb)
        return Answer(result.isNew ? .created : .ok, Self.json(result.segment))
    }

    private func delete(_ call: Call) async throws -> Answer {
        try await services.verbs.segments.delete(try call.text("segment"), app: try call.app().key, call.verb)
        return Answer(.noContent)
    }

    private static func json(_ segment: Segment) -> JSON {
        [
            "name": .string(segment.name), "where": segment.condition.json,
            "created_at": .string(segment.createdAt.description),
            "changed_at": .string(segment.changedAt.description),
        ]
    }
}

extension NativeDocument {
    static let segments: [APIOperation] = [
        APIOperation(
            id: "listSegments", method: .get, path: "\(app)/segments", summary: "List the segments",
            parameters: page(.name), answers: [list(of: "NativeSegment", segment)]),
        APIOperation(
            id: "getSegment", method: .get, path: "\(app)/segments/:segment", summary: "Show a segment",
            answers: [APIAnswer(200, "The segment.", segment)]),
        APIOperation(
            id: "putSegment", method: .put, path: "\(app)/segments/:segment",
            summary: "Create a segment or replace its condition",
            body: APIBody(
                schema: NativeSegments.draft.schema(strict),
                examples: [("austria", ["where": ["and": [["locale": "de"], ["time_zone": "Europe/Vienna"]]]])]),
            answers: [
                APIAnswer(201, "The new segment.", segment), APIAnswer(200, "The changed segment.", segment),
            ], refusals: [.conflict]),
        APIOperation(
            id: "deleteSegment", method: .delete, path: "\(app)/segments/:segment", summary: "Delete a segment",
            text: "Scheduled messages that refer to it will fail.", answers: [APIAnswer(204, "Deleted.")]),
    ]

    private static let segment = Schema.component(
        "NativeSegment",
        .object([
            .required("name", .text), .required("where", NativeConditionShapes.condition.describe(strict)),
            .required("created_at", .time), .required("changed_at", .time),
        ]))
}
