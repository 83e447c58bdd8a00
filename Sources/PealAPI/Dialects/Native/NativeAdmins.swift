internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Named admins: create (the only answer that contains the token), list and revoke; and the first admin's token.
struct NativeAdmins: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    private static let path = "/peal/v1/admins"

    var endpoints: [Endpoint] {
        [
            Endpoint(.post, Self.path, .admin, create), Endpoint(.get, Self.path, .admin, list),
            Endpoint(.get, "\(Self.path)/:id", .admin, show), Endpoint(.delete, "\(Self.path)/:id", .admin, revoke),
            Endpoint(.post, "\(Self.path):rotate", .admin, rotate),
        ]
    }

    static let draft = ObjectShape("NativeAdminDraft", "") {
        Entry(required: "name", NativeKeyShapes.name) { $0 = $1 }
    }

    private func create(_ call: Call) async throws -> Answer {
        let name = try call.body(Self.draft.shape, .native)
        let reply = try await services.verbs.admins.create(name: name, call.verb) { made in
            var shown = Self.json(made.admin).objectValue ?? .init()
            shown["token"] = .string(made.adminToken)
            return .showingOnce(.object(shown), id: made.admin.id.description)
        }
        return Answer(reply)
    }

    private func list(_ call: Call) async throws -> Answer {
        let page = try NativeList(call.query, by: .id)
        try await AccessRecorder(services).write()
        let (admins, isComplete) = try await services.store.checkedList { store, _ in try store.admins() }
        return page.answer(ofAll: admins, isComplete: isComplete, by: \.id, json: Self.json)
    }

    private func show(_ call: Call) async throws -> Answer {
        let id: AdminID = try call.id("id", of: "admin")
        try await AccessRecorder(services).write()
        guard let admin = try await services.store.read({ try $0.admins().first { $0.id == id } }) else {
            throw PealError.notFound("admin")
        }
        return Answer(.ok, Self.json(admin))
    }

    private func revoke(_ call: Call) async throws -> Answer {
        try await services.verbs.admins.revoke(try call.id("id", of: "admin"), call.verb)
        return Answer(.noContent)
    }

    private func rotate(_ call: Call) async throws -> Answer {
        let reply = try await services.verbs.admins.rotate(call.verb) { adminToken in
            .showingOnce(
                ["id": .string(Admin.first), "token": .string(adminToken)], id: Admin.first, status: 200)
        }
        return Answer(reply)
    }

    private static func json(_ admin: Admin) -> JSON {
        [
            "id": .string(admin.id.description), "name": .string(admin.name),
            "created_at": .string(admin.createdAt.description), "created_by": .string(admin.createdBy),
            "last_used_at": admin.lastUsedAt.map { .string($0.description) } ?? .null,
        ]
    }
}

extension NativeDocument {
    static let admins: [APIOperation] = [
        APIOperation(
            id: "createAdmin", method: .post, path: "/peal/v1/admins",
            summary: "Create an admin; the token is shown only once",
            body: APIBody(
                schema: NativeAdmins.draft.schema(strict), examples: [("admin", ["name": "Ada"])]),
            answers: [
                APIAnswer(201, "The admin with the token.", shownAdmin),
                APIAnswer(
                    200, "The answer to a repeated request, without the token.", .named("NativeKeyRepetition")),
            ], namesIdempotencyKey: false),
        APIOperation(
            id: "listAdmins", method: .get, path: "/peal/v1/admins", summary: "List the named admins",
            text: "The first admin is not among them.", parameters: page(.id),
            answers: [list(of: "NativeAdmin", shownAdmin)]),
        APIOperation(
            id: "getAdmin", method: .get, path: "/peal/v1/admins/:id", summary: "Show an admin",
            answers: [APIAnswer(200, "The admin.", shownAdmin)]),
        APIOperation(
            id: "revokeAdmin", method: .delete, path: "/peal/v1/admins/:id", summary: "Revoke an admin",
            answers: [APIAnswer(204, "Revoked, effective immediately.")]),
        APIOperation(
            id: "rotateAdminToken", method: .post, path: "/peal/v1/admins:rotate",
            summary: "Replace the first admin's token",
            text: "The former token becomes invalid. Refused with `conflict` if `PEAL_ADMIN_TOKEN` is configured.",
            answers: [
                APIAnswer(
                    200, "The new token, which is shown only once; a repeated request gets `secret_shown` instead.",
                    .object([
                        .required("id", .word("admin")), .optional("token", .text), .optional("secret_shown", .flag),
                    ]))
            ], refusals: [.conflict], namesIdempotencyKey: false),
    ]

    private static let shownAdmin = Schema.component(
        "NativeAdmin",
        .object([
            .required("id", .uuid), .required("name", .text), .required("created_at", .time),
            .required("created_by", .text), .required("last_used_at", Schema.time.orNull),
            .optional("token", Schema.text.described("Shown only when the admin is created.")),
        ]))
}
