internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// `POST /peal/v1/sign-in-links`: signs a browser in to the console once, as the caller.
struct NativeSignInLinks: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    private static let path = "/peal/v1/sign-in-links"

    var endpoints: [Endpoint] { [Endpoint(.post, Self.path, .anyNative, create)] }

    private func create(_ call: Call) async throws -> Answer {
        guard case .bearer(let secret) = AuthorizationHeader(call.headers[.authorization]) else {
            throw PealError(.unauthorized, "a valid key is required")
        }
        let hash = services.hasher.hash(secret)
        let holder: String
        switch call.caller.identity {
        case .admin(nil): holder = Admin.first
        case .admin: holder = Admin.sessionPrefix + KeyVerbs.publicHalf(ofHash: hash)
        case .key(let stored): holder = stored.key.publicHalf
        case .anonymous, .device: throw PealError(.unauthorized, "a valid key is required")
        }
        let reply = try await services.verbs.signInLinks.create(for: holder, secretHash: hash, call.verb) { made in
            .showingOnce([
                "path": .string("/console/sign-in?link=\(made.linkToken)"),
                "expires_at": .string(made.expiresAt.description),
            ])
        }
        return Answer(reply)
    }
}

extension NativeDocument {
    static let signInLinks: [APIOperation] = [
        APIOperation(
            id: "createSignInLink", method: .post, path: "/peal/v1/sign-in-links",
            summary: "Create a link that signs a browser in to the console once",
            text: "Whoever opens it acts as the caller. It expires after \(Limits.signInLinkSeconds / 60) minutes.",
            answers: [
                APIAnswer(
                    201, "The path of the link, shown only once.",
                    .component(
                        "NativeSignInLink", .object([.required("path", .text), .required("expires_at", .time)]))),
                APIAnswer(
                    200, "The answer to a repeated request, without the link.",
                    .component("NativeSignInLinkRepetition", .object([.required("secret_shown", .flag)]))),
            ])
    ]
}
