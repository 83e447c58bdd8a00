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
