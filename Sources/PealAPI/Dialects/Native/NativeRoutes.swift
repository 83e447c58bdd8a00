internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// All paths of the native API.
struct NativeRoutes: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    private static let app = "/peal/v1/apps/:app"

    var all: [Endpoint] { endpoints.map(Self.strictness.strict) }

    /// Made once: it takes a while, and the time changes only examples.
    private static let strictness = NativeStrictness(
        NativeDocument.document(at: Timestamp(milliseconds: 0)).operations)

    private var endpoints: [Endpoint] {
        NativeApps(services).endpoints(Self.app) + NativeCredentials(services).endpoints(Self.app)
            + NativeKeys(services).endpoints(Self.app) + NativeDevices(services).endpoints(Self.app)
            + NativeTopics(services).endpoints(Self.app) + NativeMessages(services).endpoints(Self.app)
            + NativeMessageStates(services).endpoints(Self.app) + NativeDeliveries(services).endpoints(Self.app)
            + NativeChannels(services).endpoints(Self.app) + NativeWebhooks(services).endpoints(Self.app)
            + NativeCampaigns(services).endpoints(Self.app) + NativeAudit(services).endpoints(Self.app)
            + NativeRouteStates(services).endpoints(Self.app) + NativeSegments(services).endpoints(Self.app)
            + NativeAdmins(services).endpoints + NativeStatistics(services).endpoints(Self.app)
            + NativeProgress(services).endpoints(Self.app) + NativeSavedMessages(services).endpoints(Self.app)
            + NativeSignInLinks(services).endpoints
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
