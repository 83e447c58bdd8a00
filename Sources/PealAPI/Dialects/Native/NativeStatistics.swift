internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// `GET …/stats`: what happened in each minute, hour or day, whether or not the messages still exist.
struct NativeStatistics: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] { [Endpoint(.get, "\(app)/stats", .app(.read), list)] }

    private func list(_ call: Call) async throws -> Answer {
        let step = try Self.step(call.query)
        let span = try NativeSpan(call.query)
        let to = span.to ?? call.now + .milliseconds(1)
        let last = step.start(of: to - .milliseconds(1))
        let from = span.from ?? max(.earliest, last - .seconds(step.seconds * (Self.stepsDefault(step) - 1)))
        guard from < to else { throw PealError.invalid("from", "from must be before to") }
        let count = (last - step.start(of: from)).milliseconds / (step.seconds * 1000) + 1
        guard count <= Limits.statisticsItemsMax else {
            throw PealError.invalid(
                "from", "more than \(Limits.statisticsItemsMax) steps; give a shorter period or a longer step")
        }
        let app = try call.app().key
        let counted = try await services.store.read(.heavy) { try $0.statistics(app: app, from: from, to: to) }
        let items = Statistics.series(counted, from: from, to: to, by: step)
        return Answer(.ok, ["items": .array(items.map(Self.json))])
    }

    private static func step(_ query: Query) throws(PealError) -> Statistics.Step {
        guard let name = query["step"] else { return .hour }
        guard let step = Statistics.Step(rawValue: name) else {
            let names = Statistics.Step.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid("step", "step must be one of \(names)")
        }
        return step
    }

    /// An hour, a day or a month, the last step included.
    private static func stepsDefault(_ step: Statistics.Step) -> Int64 {
        switch step {
        case .minute: 60
        case .hour: 24
        case .day: 30
        }
    }

    private static func json(_ item: Statistics) -> JSON {
        [
            "at": .string(item.at.description), "accepted": .integer(item.accepted),
            "rejected": .integer(item.rejected), "retired": .integer(item.retired),
            "expired": .integer(item.expired), "suppressed": .integer(item.suppressed),
            "received": .integer(item.received), "opened": .integer(item.opened),
            "content_opened": .integer(item.contentOpened),
        ]
    }
}

/// The parameters `from` and `to` of a query.
struct NativeSpan {
    let from: Timestamp?
    let to: Timestamp?

    /// - Throws: `invalid_field` for what is not a time.
    init(_ query: Query) throws(PealError) {
        from = try Self.time("from", query)
        to = try Self.time("to", query)
        if let from, let to, from >= to { throw .invalid("from", "from must be before to") }
    }

    private static func time(_ name: String, _ query: Query) throws(PealError) -> Timestamp? {
        // Clients often forget to escape the plus sign of an offset. A space may also separate date and time.
        try query.given(name).map { text throws(PealError) in
            let date = String(text.prefix(Self.dateAndSeparator))
            let rest = text.dropFirst(Self.dateAndSeparator).replacing(" ", with: "+")
            return try Shape.time.value(of: date + rest, named: name)
        }
    }

    private static let dateAndSeparator = "2026-11-21T".count

    static let parameters: [APIParameter] = [
        .query("from", .time, "The first instant."), .query("to", .time, "The instant after the last one."),
    ]
}

extension NativeDocument {
    static let statistics: [APIOperation] = [
        APIOperation(
            id: "listStatistics", method: .get, path: "\(app)/stats",
            summary: "Count what happened in each minute, hour or day",
            text: "Test messages do not count. At most \(Limits.statisticsItemsMax) steps, which are aligned to UTC.",
            parameters: NativeSpan.parameters + [
                .query("step", .words(Statistics.Step.self), "The length of a step; `hour` if absent.")
            ],
            answers: [APIAnswer(200, "Every step, the oldest first.", .object([.required("items", .list(item))]))])
    ]

    private static let item = Schema.component(
        "NativeStatistics",
        .object(
            [.required("at", .time)]
                + [
                    "accepted", "rejected", "retired", "expired", "suppressed", "received", "opened", "content_opened",
                ].map { .required($0, .count) }))
}
