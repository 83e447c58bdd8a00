internal import HTTPTypes
internal import PealCore

/// Broadcast channels for Live Activities, which APNs keeps per environment.
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
        let place = try place(call)
        let policy = try Self.policy(try Fields(try call.object()))
        let reply = try await services.channels.create(policy, at: place, call.verb) { channel in
            Reply(status: 201, Self.json(channel, place, policy))
        }
        return Answer(reply)
    }

    /// APNs tells all ids at once: the pages are cut here.
    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .name)
        let place = try place(call)
        let channels = try await services.channels.list(at: place)
        let rest = list.name.map { last in Array(channels.drop { $0 <= last }) } ?? channels
        return list.answer(
            Array(rest.prefix(list.fetchCount)), cursor: { Array($0.utf8) }, json: { Self.json($0, place, nil) })
    }

    private func get(_ call: Call) async throws -> Answer {
        let place = try place(call)
        let channel = try channel(call, place)
        let policy = try await Self.finding { try await services.channels.read(channel, at: place) }
        return Answer(.ok, Self.json(channel, place, policy))
    }

    private func delete(_ call: Call) async throws -> Answer {
        let place = try place(call)
        let channel = try channel(call, place)
        try await Self.finding { try await services.channels.delete(channel, at: place, call.verb) }
        return Answer(.noContent)
    }

    /// - Throws: `not_found` for an environment that there is not.
    private func place(_ call: Call) throws(PealError) -> ChannelVerbs.Place {
        guard let environment = Environment(alias: call.parameter("environment")) else {
            throw .notFound("environment")
        }
        return .init(app: try call.app().key, environment: environment)
    }

    /// The id as APNs writes it; in a path it stands percent-encoded or in base64url.
    /// - Throws: `not_found` for what can be no channel.
    private func channel(_ call: Call, _ place: ChannelVerbs.Place) throws(PealError) -> String {
        let id: JSON = .string(call.parameter("channel"))
        guard let address = try? services.addressRules.channel(id, environment: place.environment) else {
            throw .notFound("channel")
        }
        return String(decoding: address.bytes, as: UTF8.self)
    }

    /// What APNs takes for no channel's id is the id of none.
    private static func finding<Found>(_ ask: () async throws -> Found) async throws -> Found {
        do {
            return try await ask()
        } catch let error as PealError where error.code == .invalidField && error.field == "id" {
            throw PealError.notFound("channel")
        }
    }

    /// By name, or by Apple's number.
    private static func policy(_ fields: Fields) throws(PealError) -> ChannelStoragePolicy {
        let name = "storage_policy"
        guard let value = fields[name] else { throw .missing(fields.path(name)) }
        let known = ChannelStoragePolicy.allCases.first { policy in
            value == .string(policy.name) || value.integerValue == policy.rawValue
        }
        guard let known else {
            throw .invalid(fields.path(name), "\(name) must be none (0) or most_recent (1)")
        }
        return known
    }

    private static func json(
        _ channel: String, _ place: ChannelVerbs.Place, _ policy: ChannelStoragePolicy?
    ) -> JSON {
        .compact([
            ("id", .string(channel)), ("environment", .string(place.environment.rawValue)),
            ("storage_policy", policy.map { .string($0.name) }),
        ])
    }
}

extension ChannelStoragePolicy {
    /// The native API's word.
    fileprivate var name: String {
        switch self {
        case .none: "none"
        case .mostRecent: "most_recent"
        }
    }
}

extension NativeDocument {
    private static let path = "\(app)/channels/:environment"

    static let channels: [APIOperation] = [
        APIOperation(
            id: "createChannel", method: .post, path: path, summary: "Make a broadcast channel",
            body: APIBody(
                schema: .object([.required("storage_policy", policy)]),
                examples: [("newest", ["storage_policy": "most_recent"])]),
            answers: [APIAnswer(201, "The channel.", .named("NativeChannel"))], namesIdempotencyKey: false),
        APIOperation(
            id: "listChannels", method: .get, path: path, summary: "List broadcast channels by id",
            parameters: page(.name), answers: [list(of: "NativeChannel")], refusals: [.conflict]),
        APIOperation(
            id: "getChannel", method: .get, path: "\(path)/:channel", summary: "Show a broadcast channel",
            answers: [APIAnswer(200, "The channel.", .named("NativeChannel"))], refusals: [.conflict]),
        APIOperation(
            id: "deleteChannel", method: .delete, path: "\(path)/:channel", summary: "Delete a broadcast channel",
            answers: [APIAnswer(204, "It is gone.")], refusals: [.conflict]),
    ]

    /// By name, or by Apple's number.
    private static let policy = Schema([("enum", ["none", "most_recent", 0, 1])]).described(
        "Whether the newest message is kept for devices that are away.")

    static let channelSchemas: [(name: String, schema: Schema)] = [
        (
            "NativeChannel",
            .object([
                .required("id", .text), .required("environment", .words(Environment.self)),
                .optional("storage_policy", .words(["none", "most_recent"])),
            ])
        )
    ]
}
