internal import HTTPTypes
internal import PealCore

/// The paths of the devtodev Push API.
struct DevtodevRoutes: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var all: [Endpoint] { DevtodevPush(services).endpoints + DevtodevCategories().endpoints }
}
