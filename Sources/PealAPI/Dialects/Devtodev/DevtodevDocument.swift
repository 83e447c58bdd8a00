internal import PealCore

/// The devtodev Push API, told to the outside.
enum DevtodevDocument {
    static var document: DialectDocument {
        DialectDocument(
            name: "Devtodev", text: "Pushes that are answered when they are sent.", envelope: .devtodev,
            refusal: .object, operations: [])
    }
}
