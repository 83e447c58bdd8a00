internal import HTTPTypes
internal import PealCore

/// Stopping, holding and letting go of messages.
struct NativeMessageStates: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        let path = "\(app)/messages/:id"
        return [
            Endpoint(.post, "\(path)/cancel", .app(.send)) { call in
                let (id, key) = try Self.target(call)
                return Answer(try await services.messages.cancel(id, app: key, call.verb, reply: Self.reply))
            },
            Endpoint(.post, "\(path)/pause", .app(.send)) { call in
                let (id, key) = try Self.target(call)
                return Answer(try await services.messages.pause(id, app: key, call.verb, reply: Self.reply))
            },
            Endpoint(.post, "\(path)/resume", .app(.send)) { call in
                let (id, key) = try Self.target(call)
                return Answer(try await services.messages.resume(id, app: key, call.verb, reply: Self.reply))
            },
        ]
    }

    private static func target(_ call: Call) throws(PealError) -> (MessageID, AppKey) {
        (try call.id("id", of: "message"), try call.app().key)
    }

    @Sendable private static func reply(_ report: MessageReport) -> Reply { Reply(status: 200, report.nativeJSON) }
}
