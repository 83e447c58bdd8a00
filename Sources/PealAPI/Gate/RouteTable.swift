internal import HTTPTypes

/// One method of one path: who may call it, and what answers.
struct Endpoint: Sendable {
    typealias Handler = @Sendable (Call) async throws -> Answer

    let method: HTTPRequest.Method
    /// Segments; `:name` matches any one segment.
    let path: String
    let access: Access
    let handler: Handler
    /// The segments that match anything, by position.
    fileprivate let parameters: [(position: Int, name: String)]

    init(_ method: HTTPRequest.Method, _ path: String, _ access: Access, _ handler: @escaping Handler) {
        self.method = method
        self.path = path
        self.access = access
        self.handler = handler
        parameters = path.split(separator: "/").enumerated().filter { $1.hasPrefix(":") }.map {
            ($0, String($1.dropFirst()))
        }
    }
}

/// Finds the endpoint of a path. A literal segment takes precedence over a parameter, so `registration/count` does not
/// name a device.
struct RouteTable: Sendable {
    private final class Node: Sendable {
        let literals: [String: Node]
        let parameter: Node?
        let endpoints: [HTTPRequest.Method: Endpoint]

        init(literals: [String: Node], parameter: Node?, endpoints: [HTTPRequest.Method: Endpoint]) {
            self.literals = literals
            self.parameter = parameter
            self.endpoints = endpoints
        }

        static let empty = Node(literals: [:], parameter: nil, endpoints: [:])

        /// This node with `endpoint` below it at `segments`.
        func adding(_ endpoint: Endpoint, at segments: ArraySlice<Substring>) -> Node {
            guard let segment = segments.first else {
                var endpoints = endpoints
                endpoints[endpoint.method] = endpoint
                return Node(literals: literals, parameter: parameter, endpoints: endpoints)
            }
            let rest = segments.dropFirst()
            if segment.hasPrefix(":") {
                let below = (parameter ?? .empty).adding(endpoint, at: rest)
                return Node(literals: literals, parameter: below, endpoints: endpoints)
            }
            var literals = literals
            literals[String(segment)] = (literals[String(segment)] ?? .empty).adding(endpoint, at: rest)
            return Node(literals: literals, parameter: parameter, endpoints: endpoints)
        }

        func find(_ segments: ArraySlice<String>) -> Node? {
            guard let segment = segments.first else { return endpoints.isEmpty ? nil : self }
            let rest = segments.dropFirst()
            return literals[segment]?.find(rest) ?? parameter?.find(rest)
        }
    }

    private var root = Node.empty

    enum Match {
        case endpoint(Endpoint, parameters: [String: String])
        /// The path is known, the method is not.
        case otherMethods([HTTPRequest.Method])
        case none
    }

    mutating func add(_ endpoints: [Endpoint]) {
        for endpoint in endpoints {
            root = root.adding(endpoint, at: endpoint.path.split(separator: "/")[...])
        }
    }

    /// The endpoint for `GET` answers `HEAD` too.
    func match(_ method: HTTPRequest.Method, _ path: RequestPath) -> Match {
        guard let node = root.find(path.segments[...]) else { return .none }
        let wanted = method == .head ? .get : method
        guard let endpoint = node.endpoints[wanted] else {
            return .otherMethods(node.endpoints.keys.sorted { $0.rawValue < $1.rawValue })
        }
        var parameters: [String: String] = [:]
        for (position, name) in endpoint.parameters { parameters[name] = path.segments[position] }
        return .endpoint(endpoint, parameters: parameters)
    }
}
