/// One request as it came over the wire: pseudo-headers apart, the other headers in their order, and the body.
package struct APNsRequest: Sendable {
    /// The `:method`.
    package var method: String
    /// The `:path`, undecoded.
    package var path: String
    /// Names in lower case, as HTTP/2 demands, and values.
    package var headers: [(name: String, value: String)]
    /// The whole body.
    package var body: [UInt8]

    /// A request of these parts.
    package init(method: String, path: String, headers: [(name: String, value: String)], body: [UInt8]) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
    }

    /// The first value of the header `name`.
    package func value(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}
