internal import PealCore

/// The ContextPush API, told to the outside.
enum ContextPushDocument {
    static var document: DialectDocument {
        DialectDocument(
            name: "ContextPush", text: "One person's message, sent at a good moment.", envelope: .contextpush,
            refusal: .object, operations: [])
    }
}
