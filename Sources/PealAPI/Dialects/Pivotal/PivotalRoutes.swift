internal import HTTPTypes
internal import PealCore

/// The paths of Pivotal Push 1.8.
struct PivotalRoutes: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var all: [Endpoint] {
        PivotalRegistration(services).endpoints + PivotalPush(services).endpoints
            + PivotalSchedules(services).endpoints + PivotalReceipts(services).endpoints
            + PivotalRegistrations(services).endpoints + PivotalTopics(services).endpoints
            + PivotalTags(services).endpoints + PivotalServer(services).endpoints
            + PivotalGeofences(services).endpoints + PivotalLocations(services).endpoints
            + PivotalAnalytics(services).endpoints
    }
}

/// Reports the version and the health of the server.
struct PivotalServer: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    /// The vendor's SDKs report what happens to notifications if the version is 1.3.2 or later.
    private static let version = "1.8.1"

    var endpoints: [Endpoint] {
        [
            Endpoint(.get, "/v1/version", .everybody) { _ in Answer(.ok, ["version": .string(Self.version)]) },
            Endpoint(.get, "/healthcheck", .everybody, health),
        ]
    }

    /// Uses the names that the original server has for its parts.
    private func health(_ call: Call) async throws -> Answer {
        let failures = await services.operations.readiness().filter { $0.failure != nil }.map(\.subsystem)
        let state: JSON = [
            "healthy": .bool(failures.isEmpty),
            "message": .string(failures.isEmpty ? "ok" : "failed: \(failures.joined(separator: ", "))"),
        ]
        return Answer(
            failures.isEmpty ? .ok : .serviceUnavailable,
            ["database": state, "rabbitmq": state, "scheduler-backend": state])
    }
}

/// The page of a list that a request asks for: `?page=&size=`.
struct PivotalPage {
    let page: PageNumber

    /// - Parameter sizeMin: 0 if clients may request only the total.
    /// - Throws: `invalid_field` for a number out of range.
    init(_ query: Query, sizeMin: Int) throws(PealError) {
        page = PageNumber(
            number: try query.integer("page", in: 1...Int(Int32.max)) ?? 1,
            size: try query.integer("size", in: sizeMin...Limits.pageItemsMax) ?? Limits.pageItemsDefault)
    }

    /// The JSON of a page, with the items under `name` and the totals.
    /// - Parameter total: the name of the member that counts all items.
    func json<Item>(_ result: ResultPage<Item>, _ name: String, total: String, item: (Item) -> JSON) -> JSON {
        let pages = page.size == 0 ? 0 : (result.total + page.size - 1) / page.size
        return .object(
            JSON.Members([
                (name, .array(result.items.map(item))), (total, .integer(result.total)),
                ("totalPages", .integer(pages)), ("page", .integer(page.number)), ("size", .integer(page.size)),
            ]))
    }
}
