internal import Crypto
internal import PealCore

/// `pack_id`: the name by which a client that lost the answer asks again. Until the message has ended the kept answer
/// holds its id, so that a repetition waits for the same message, also after a restart of the server.
enum DevtodevPack {
    private static let acceptedStatus = 202

    /// nil where the request names itself not.
    static func request(_ body: Tolerance, _ call: Call, app: App) throws(PealError) -> IdempotentRequest? {
        guard let name = try body.text("pack_id") else { return nil }
        let scope = SHA256.hash(data: Array("devtodev\n\(app.id)".utf8))
        return IdempotentRequest(
            scope: Array(scope), key: name, digest: Array(SHA256.hash(data: call.body)),
            lifeSeconds: Limits.devtodevPackSeconds)
    }

    /// What is kept in the transaction that accepts the message.
    static func accepted(_ id: MessageID, skipped: [String]) -> Reply {
        Reply(
            status: acceptedStatus,
            ["message_id": .string(id.description), "skipped": .array(skipped.map(JSON.string))])
    }

    /// The message whose end is still to be told; nil of a final answer.
    static func pending(_ reply: Reply) -> (id: MessageID, skipped: [String])? {
        guard reply.status == acceptedStatus, let json = try? JSONParser.parse(reply.body),
            let id = json["message_id"]?.stringValue.flatMap({ MessageID($0) })
        else { return nil }
        return (id, json["skipped"]?.arrayValue?.compactMap(\.stringValue) ?? [])
    }

    /// Puts the final answer in place of the pending one; a final one stays.
    /// - Parameter start: when the first request came, from which the name's life counts.
    static func keep(
        _ json: JSON, for request: IdempotentRequest, in store: any StoreWriting, start: Timestamp
    ) throws {
        guard let kept = try store.keptAnswer(request, now: start), kept.status == acceptedStatus else { return }
        try store.keepAnswer(KeptAnswer(digest: kept.digest, status: 200, body: json.bytes), to: request, now: start)
    }
}
