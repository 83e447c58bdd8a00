internal import HTTPTypes
internal import PealCore

/// The paths of Pivotal Push 1.8 that are built.
struct PivotalRoutes: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var all: [Endpoint] {
        PivotalRegistration(services).endpoints + PivotalPush(services).endpoints
            + PivotalSchedules(services).endpoints + PivotalReceipts(services).endpoints
            + PivotalRegistrations(services).endpoints + PivotalTopics(services).endpoints
            + PivotalTags(services).endpoints + PivotalServer(services).endpoints + unbuilt
    }

    /// Documented paths that are not built yet say so, instead of seeming misspelt.
    private var unbuilt: [Endpoint] {
        let application = [
            "/v1/geofence", "/v1/geofence/:id", "/v1/locations", "/v1/locations/:id",
            "/v1/location_groups", "/v1/location_groups/:id",
        ]
        return application.flatMap { Self.unbuilt($0, .pivotalApplication(.read)) }
            + ["/v1/geofences", "/v1/analytics"].flatMap { Self.unbuilt($0, .pivotalPlatform) }
    }

    private static func unbuilt(_ path: String, _ access: Access) -> [Endpoint] {
        [.get, .put, .post, .delete].map { method in
            Endpoint(method, path, access) { call in
                throw PealError(.notSupported, "\(call.path.text) is not supported yet", field: "path")
            }
        }
    }
}
