internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Broadcast channels for Live Activities, which APNs stores per environment.
struct NativeChannels: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        let path = "\(app)/channels/:environment"
        return [
            Endpoint(.post, path, .app(.send), create),
            Endpoint(.get, path, .app(.read), list),
            Endpoint(.get, "\(path)/:channel", .app(.read), get),
            Endpoint(.delete, "\(path)/:channel", .app(.send), delete),
        ]
    }

    private func create(_ call: Call) async throws -> Answer {
        let scope = try scope(call)
        let policy = try call.body(NativeChannelShapes.draft.shape, .native)
        let reply = try await services.verbs.channels.create(policy, at: scope, call.verb) { channel in
            Reply(status: 201, Self.json(channel, scope, policy))
        }
        return Answer(reply)
    }

    /// APNs returns all ids at once, so pages are cut here.
    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .name)
        let scope = try scope(call)
        let channels = try await services.verbs.channels.list(at: scope)
        let rest = list.name.map { last in Array(channels.drop { $0 <= last }) } ?? channels
        return list.answer(
            Array(rest.prefix(list.fetchCount)), cursor: { Array($0.utf8) }, json: { Self.json($0, scope, nil) })
    }

    private func get(_ call: Call) async throws -> Answer {
        let scope = try scope(call)
        let channel = try channel(call, scope)
        let policy = try await Self.finding { try await services.verbs.channels.read(channel, at: scope) }
        return Answer(.ok, Self.json(channel, scope, policy))
    }

    private func delete(_ call: Call) async throws -> Answer {
        let scope = try scope(call)
        let channel = try channel(call, scope)
        try await Self.finding { try await services.verbs.channels.delete(channel, at: scope, call.verb) }
        return Answer(.noContent)
    }

    /// - Throws: `not_found` for an unknown environment.
    private func scope(_ call: Call) throws(PealError) -> ChannelVerbs.Scope {
        guard let environment = Environment(alias: call.parameter("environment")) else {
            throw .notFound("environment")
        }
        return .init(app: try call.app().key, environment: environment)
    }

    /// The id as APNs writes it. In the path it is percent-encoded or in base64url.
    /// - Throws: `not_found` for text that cannot be the id of a channel.
    private func channel(_ call: Call, _ scope: ChannelVerbs.Scope) throws(PealError) -> String {
        let id: JSON = .string(call.parameter("channel"))
        guard let address = try? services.addressRules.channel(id, environment: scope.environment) else {
            throw .notFound("channel")
        }
        return String(decoding: address.bytes, as: UTF8.self)
    }

    /// Turns APNs' refusal of an invalid id into `not_found`, because no channel has that id.
    private static func finding<Found>(_ ask: () async throws -> Found) async throws -> Found {
        do {
            return try await ask()
        } catch let error as PealError where error.code == .invalidField && error.field == "id" {
            throw PealError.notFound("channel")
        }
    }

    private static func json(
        _ channel: String, _ scope: ChannelVerbs.Scope, _ policy: ChannelStoragePolicy?
    ) -> JSON {
        .compact([
            ("id", .string(channel)), ("environment", .string(scope.environment.rawValue)),
            ("storage_policy", policy.map { .string($0.name) }),
        ])
    }
}

extension ChannelStoragePolicy {
    /// The native API's name of the policy.
    fileprivate var name: String {
        switch self {
        case .none: "none"
        case .mostRecent: "most_recent"
        }
    }
}

/// The shape of a request to create a channel.
enum NativeChannelShapes {
    static let draft = ObjectShape("NativeChannelDraft", ChannelStoragePolicy.none) {
        Entry(required: "storage_policy", policy) { $0 = $1 }
    }

    /// Accepts the policy's name or Apple's number.
    private static let policy = Shape<ChannelStoragePolicy>(
        read: { json, reading throws(PealError) in
            let known = ChannelStoragePolicy.allCases.first { policy in
                json == .string(policy.name) || json.integerValue == policy.rawValue
            }
            guard let known else { throw reading.refusal("must be none (0) or most_recent (1)") }
            return known
        },
        describe: { _ in
            Schema.integer(0...1).with("type", ["string", "integer"]).with("pattern", "^(none|most_recent)$")
                .described("Whether APNs stores the newest message for offline devices.")
        })
}

extension NativeDocument {
    private static let path = "\(app)/channels/:environment"

    static let channels: [APIOperation] = [
        APIOperation(
            id: "createChannel", method: .post, path: path, summary: "Create a broadcast channel",
            body: APIBody(
                schema: NativeChannelShapes.draft.schema(strict),
                examples: [("newest", ["storage_policy": "most_recent"])]),
            answers: [APIAnswer(201, "The channel.", channel)], namesIdempotencyKey: false),
        APIOperation(
            id: "listChannels", method: .get, path: path, summary: "List broadcast channels by id",
            parameters: page(.name), answers: [list(of: "NativeChannel", channel)], refusals: [.conflict]),
        APIOperation(
            id: "getChannel", method: .get, path: "\(path)/:channel", summary: "Show a broadcast channel",
            answers: [APIAnswer(200, "The channel.", channel)], refusals: [.conflict]),
        APIOperation(
            id: "deleteChannel", method: .delete, path: "\(path)/:channel", summary: "Delete a broadcast channel",
            answers: [APIAnswer(204, "Deleted.")], refusals: [.conflict]),
    ]

    private static let channel = Schema.component(
        "NativeChannel",
        .object([
            .required("id", .text),
            .required("environment", shownEnvironment),
            .optional("storage_policy", .component("NativeStoragePolicy", .words(["none", "most_recent"]))),
        ]))
}
