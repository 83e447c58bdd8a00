internal import HTTPTypes

/// One method of one path: who may call it, and what answers.
struct Endpoint: Sendable {
    let method: HTTPRequest.Method
    /// Segments; `:name` takes one segment.
    let path: String
    let access: Access
    let handler: @Sendable (Call) async throws -> Answer

    init(
        _ method: HTTPRequest.Method, _ path: String, _ access: Access,
        _ handler: @escaping @Sendable (Call) async throws -> Answer
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.handler = handler
    }
}
