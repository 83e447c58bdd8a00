internal import PealCore

/// The native API, told to the outside.
enum NativeDocument {
    /// The body of a refusal.
    static let refusal = Schema.object([
        .required(
            "error",
            .object([
                .required("code", .words(PealError.Code.self)), .required("message", .text),
                .optional("field", .text),
            ]))
    ])

    static var document: DialectDocument {
        DialectDocument(
            name: "Native", text: "Apps, credentials, keys, devices and messages.", envelope: .native,
            refusal: refusal, operations: [])
    }
}
