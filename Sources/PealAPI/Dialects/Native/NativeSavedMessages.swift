internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Drafts and templates: messages saved under a name, complete or not.
struct NativeSavedMessages: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        SavedMessage.Kind.allCases.flatMap { kind in
            let path = "\(app)/\(kind.rawValue)s"
            return [
                Endpoint(.get, path, .app(.read)) { try await list($0, kind) },
                Endpoint(.get, "\(path)/:name", .app(.read)) { try await get($0, kind) },
                Endpoint(.put, "\(path)/:name", .app(.send)) { try await put($0, kind) },
                Endpoint(.delete, "\(path)/:name", .app(.send)) { call in
                    try await services.verbs.savedMessages.delete(
                        kind, try call.text("name"), app: try call.app().key, call.verb)
                    return Answer(.noContent)
                },
            ]
        }
    }

    /// A request as given, and the values read from it.
    fileprivate struct Saved: Sendable {
        var json = JSON.null
        var given = NativeMessageDraft()
    }

    fileprivate static let draft = ObjectShape("NativeSavedMessageDraft", Saved()) {
        Entry(required: "request", request) { $0 = $1 }
    }

    /// Checks the given members; missing members, and what depends on other objects, are checked when the message is
    /// sent.
    private static let request = Shape<Saved>(
        read: { json, reading throws(PealError) in
            var given = NativeMessageDraft()
            try NativeMessageShapes.message.apply(json, to: &given, &reading)
            let lives =
                [("options", given.options?.life)]
                + Platform.allCases.map {
                    ("content.\($0.rawValue).options", given.content?.platforms[$0]?.options.life)
                }
            for (field, life) in lives {
                if case .until(let end) = life, end <= reading.now {
                    let path = reading.path("\(field).expires_at")
                    throw PealError.invalid(path, "\(path) must be in the future")
                }
            }
            return Saved(json: json, given: given)
        }, describe: { NativeMessageShapes.message.change("NativeSavedRequest", $0) })

    private func list(_ call: Call, _ kind: SavedMessage.Kind) async throws -> Answer {
        let list = try NativeList(call.query, by: .name)
        let app = try call.app().key
        let (messages, isComplete) = try await services.store.checkedList {
            try $0.savedMessages(app: app, kind, after: list.name, limit: list.fetchCount + $1)
        }
        return list.answer(messages, isComplete: isComplete, cursor: { Array($0.name.utf8) }, json: Self.json)
    }

    private func get(_ call: Call, _ kind: SavedMessage.Kind) async throws -> Answer {
        let (app, name) = (try call.app().key, try call.text("name"))
        guard let message = try await services.store.read({ try $0.savedMessage(app: app, kind, name: name) }) else {
            throw PealError.notFound(kind.rawValue)
        }
        return Answer(.ok, Self.json(message))
    }

    private func put(_ call: Call, _ kind: SavedMessage.Kind) async throws -> Answer {
        let saved = try call.body(Self.draft.shape, .native)
        try checkAddresses(saved.given)
        let result = try await services.verbs.savedMessages.put(
            SavedMessage(
                kind: kind, name: try call.text("name"), request: saved.json, createdAt: call.now, changedAt: call.now),
            app: try call.app().key, call.verb)
        return Answer(result.isNew ? .created : .ok, Self.json(result.message))
    }

    /// The shape cannot check the form of addresses and channels.
    private func checkAddresses(_ given: NativeMessageDraft) throws(PealError) {
        let rules = services.addressRules
        let common = given.options?.environment ?? .production
        for item in given.audience?.addresses ?? [] {
            do throws(PealError) {
                _ = try rules.address(
                    item.value.address, platform: item.value.platform, environment: item.value.environment ?? common)
            } catch {
                throw error.under(item.path)
            }
        }
        guard let channel = given.audience?.channel else { return }
        do throws(PealError) {
            _ = try rules.channel(channel.value.id, environment: channel.value.environment ?? common)
        } catch {
            throw error.under(channel.path)
        }
    }

    private static func json(_ message: SavedMessage) -> JSON {
        [
            "name": .string(message.name), "request": message.request,
            "created_at": .string(message.createdAt.description), "changed_at": .string(message.changedAt.description),
        ]
    }
}

extension NativeDocument {
    static func savedMessages(_ describing: Describing) -> [APIOperation] {
        SavedMessage.Kind.allCases.flatMap { kind in
            let (name, path) = (kind.rawValue, "\(app)/\(kind.rawValue)s")
            let id = name.prefix(1).uppercased() + name.dropFirst()
            return [
                APIOperation(
                    id: "list\(id)s", method: .get, path: path, summary: "List the \(name)s by name",
                    parameters: page(.name), answers: [list(of: "NativeSavedMessage", savedMessage)]),
                APIOperation(
                    id: "get\(id)", method: .get, path: "\(path)/:name", summary: "Show a \(name)",
                    answers: [APIAnswer(200, "The \(name).", savedMessage)]),
                APIOperation(
                    id: "put\(id)", method: .put, path: "\(path)/:name", summary: "Save or replace a \(name)",
                    text: "The members of the request are those of a message, any of which may be missing.",
                    body: APIBody(
                        schema: NativeSavedMessages.draft.schema(describing),
                        examples: [(name, ["request": ["content": ["title": "Fresh cheese"]]])]),
                    answers: [
                        APIAnswer(201, "The new \(name).", savedMessage),
                        APIAnswer(200, "The changed \(name).", savedMessage),
                    ], refusals: [.conflict, .bodyTooLarge]),
                APIOperation(
                    id: "delete\(id)", method: .delete, path: "\(path)/:name", summary: "Delete a \(name)",
                    answers: [APIAnswer(204, "Deleted.")]),
            ]
        }
    }

    private static let savedMessage = Schema.component(
        "NativeSavedMessage",
        .object([
            .required("name", .text), .required("request", .anything), .required("created_at", .time),
            .required("changed_at", .time),
        ]))
}
