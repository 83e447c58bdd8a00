internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// All paths of the native API.
struct NativeRoutes: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var all: [Endpoint] { endpoints.map(Self.strictness.strict) }

    /// Made once: it takes a while, and the time changes only examples.
    private static let strictness = NativeStrictness(
        NativeDocument.document(at: Timestamp(milliseconds: 0)).operations)

    private var endpoints: [Endpoint] {
        let app = NativeDocument.app
        return NativeApps(services).endpoints(app) + NativeCredentials(services).endpoints(app)
            + NativeKeys(services).endpoints(app) + NativeDevices(services).endpoints(app)
            + NativeTopics(services).endpoints(app) + NativeMessages(services).endpoints(app)
            + NativeDeliveries(services).endpoints(app) + NativeChannels(services).endpoints(app)
            + NativeWebhooks(services).endpoints(app) + NativeCampaigns(services).endpoints(app)
            + NativeAudit(services).endpoints(app) + NativeRouteStates(services).endpoints(app)
            + NativeSegments(services).endpoints(app) + NativeAdmins(services).endpoints
            + NativeStatistics(services).endpoints(app) + NativeProgress(services).endpoints(app)
            + NativeSavedMessages(services).endpoints(app) + NativeSignInLinks(services).endpoints
    }
}

/// Refuses what an operation does not document: unknown query parameters, and a body if it takes none; what is given
/// twice, because the sender and the server could mean different ones; and query parameters without a value, because an
/// empty filter would list everything. The shapes check the members of bodies.
struct NativeStrictness: Sendable {
    private struct Name: Hashable {
        let method: String
        let path: String
    }

    private let operations: [Name: APIOperation]

    init(_ operations: [APIOperation]) {
        let named = operations.map { (Name(method: $0.method.rawValue, path: $0.path), $0) }
        self.operations = Dictionary(named) { first, _ in first }
    }

    /// The endpoint with these checks before its handler. An endpoint without a document is returned unchanged.
    func strict(_ endpoint: Endpoint) -> Endpoint {
        guard let operation = operations[Name(method: endpoint.method.rawValue, path: endpoint.path)] else {
            return endpoint
        }
        let known = operation.parameters.filter { $0.location == .query }.map(\.name)
        let takesBody = operation.body != nil
        return Endpoint(endpoint.method, endpoint.path, endpoint.access) { call in
            var call = call
            call.refusesRepeatedMembers = true
            try Self.check(call.query, known: known)
            if !takesBody, !call.body.isEmpty, let name = try call.object().objectValue?.names.first {
                throw PealError.unknown(name)
            }
            return try await endpoint.handler(call)
        }
    }

    private static func check(_ query: Query, known: [String]) throws(PealError) {
        var seen: Set<String> = []
        for name in query.names {
            guard !name.isEmpty else { throw PealError(.unknownField, "a query parameter has no name", field: "") }
            guard known.contains(name) else { throw .unknown(name, near: Spelling.nearest(to: name, known)) }
            guard seen.insert(name).inserted else { throw .invalid(name, "\(name) is given more than once") }
            guard query.given(name)?.isEmpty == false else { throw .invalid(name, "\(name) has no value") }
        }
    }
}
