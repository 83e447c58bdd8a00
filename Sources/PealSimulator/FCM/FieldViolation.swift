/// A field of a message that is wrong (`google.rpc.BadRequest.FieldViolation`).
struct FieldViolation: Sendable, Equatable {
    /// Such as `message.android.ttl`.
    let field: String
    let description: String

    var json: String {
        JSONText.object([("field", JSONText.quoted(field)), ("description", JSONText.quoted(description))])
    }
}
