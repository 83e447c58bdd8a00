internal import HTTPTypes
internal import PealCore

/// One method of one path, told to the outside. Who may call it, and so its security and a part of its refusals, comes
/// from the endpoint of the same method and path.
struct APIOperation: Sendable {
    /// Unique in the whole document: what generated clients call it.
    let id: String
    let method: HTTPRequest.Method
    /// As the endpoint writes it: `:name` is a parameter.
    let path: String
    let summary: String
    var text: String? = nil
    /// Those of the query and the headers; those of the path are the dialect's.
    var parameters: [APIParameter] = []
    var body: APIBody? = nil
    let answers: [APIAnswer]
    /// Beside those that every operation of its kind has.
    var refusals: [PealError.Code] = []
    /// Whether `Idempotency-Key` stands among the parameters of a POST that takes it. Not where what is made can be
    /// deleted: programs that try every parameter would take the first answer, given again, for a new thing.
    var namesIdempotencyKey = true

    /// The names of the parameters in the path.
    var pathParameters: [String] {
        path.split(separator: "/").filter { $0.hasPrefix(":") }.map { String($0.dropFirst()) }
    }

    /// As the document writes it: `{name}` is a parameter.
    var template: String { Self.template(of: path) }

    /// - Parameter path: as an endpoint writes it.
    static func template(of path: String) -> String {
        "/"
            + path.split(separator: "/").map { $0.hasPrefix(":") ? "{\($0.dropFirst())}" : String($0) }
            .joined(separator: "/")
    }

    /// Every code that a caller may be told.
    func codes(_ access: Access) -> Set<PealError.Code> {
        // A broken escape in a query is refused everywhere.
        var codes: Set<PealError.Code> = [.invalidField, .unavailable, .internal]
        codes.formUnion(refusals)
        if access.isGuarded { codes.formUnion([.unauthorized, .forbidden, .rateLimited]) }
        if !pathParameters.isEmpty { codes.insert(.notFound) }
        if method != .get { codes.formUnion([.bodyTooLarge, .unsupportedMediaType, .rateLimited]) }
        if body != nil { codes.formUnion([.invalidJSON, .missingField, .notSupported]) }
        if method == .post, access.isIdempotent { codes.formUnion([.conflict, .idempotencyMismatch]) }
        return codes
    }
}
