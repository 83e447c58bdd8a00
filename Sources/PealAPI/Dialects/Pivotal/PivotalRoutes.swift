internal import HTTPTypes
internal import PealCore

/// The paths of Pivotal Push 1.8 that are built.
struct PivotalRoutes: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var all: [Endpoint] {
        PivotalRegistration(services).endpoints + PivotalPush(services).endpoints
            + PivotalSchedules(services).endpoints + PivotalReceipts(services).endpoints
            + PivotalServer(services).endpoints + PivotalGeofences(services).endpoints
            + PivotalLocations(services).endpoints + PivotalAnalytics(services).endpoints + unbuilt
    }

    /// Documented paths that are not built yet say so, instead of seeming misspelt.
    private var unbuilt: [Endpoint] {
        let application = [
            "/v2/registrations", "/v2/topics", "/v2/topics/:id", "/v2/topics/batch", "/v2/custom_user_ids", "/v1/tags",
            "/v1/tags/:tag", "/v1/tags/all/:tag", "/v1/tags/count/:tag", "/v1/tags/count/:platform/:tag",
            "/v1/tags/batch",
        ]
        return application.flatMap { Self.unbuilt($0, .pivotalApplication(.read)) }
    }

    private static func unbuilt(_ path: String, _ access: Access) -> [Endpoint] {
        [.get, .put, .post, .delete].map { method in
            Endpoint(method, path, access) { call in
                throw PealError(.notSupported, "\(call.path.text) is not supported yet", field: "path")
            }
        }
    }
}
