internal import PealCore

/// The Pivotal Push API, told to the outside.
enum PivotalDocument {
    static var document: DialectDocument {
        DialectDocument(
            name: "Pivotal", text: "The API of Pivotal Push 1.8.", envelope: .pivotal, refusal: .object,
            operations: [])
    }
}
