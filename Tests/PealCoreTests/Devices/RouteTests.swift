import PealCore
import Testing

@Suite("Routes") struct RouteTests {
    @Test("lead back to their platform and environment", arguments: Route.allCases.filter { !$0.isBroadcast })
    func roundTrip(route: Route) {
        #expect(Route(route.platform, route.environment) == route)
        #expect(Route.to(route.platform).contains(route))
    }

    @Test("have stored numbers that never change")
    func stored() {
        #expect(Route.allCases.map(\.rawValue) == Array(1...10))
    }

    @Test("to channels hold no device and keep their environment", arguments: Environment.allCases)
    func broadcast(environment: Environment) {
        let route = Route.broadcast(environment)
        #expect(route.isBroadcast && route.environment == environment && route.provider == .apns)
        #expect(!Route.to(route.platform).contains(route))
    }

    @Test("reach every platform that an author may name through some provider")
    func providers() {
        for platform in Platform.addressable { #expect(Route(platform, .production).provider != nil) }
    }

    @Test("development is another word for sandbox")
    func environmentAlias() {
        #expect(Environment(alias: "development") == .sandbox)
        #expect(Environment(alias: "production") == .production)
        #expect(Environment(alias: "Production") == nil)
    }
}
