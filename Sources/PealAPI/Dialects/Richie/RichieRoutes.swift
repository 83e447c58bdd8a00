internal import HTTPTypes
internal import PealCore

/// The path of the Richie Push API.
struct RichieRoutes: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var all: [Endpoint] { RichieTasks(services).endpoints }
}
