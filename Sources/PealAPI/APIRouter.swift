package import Hummingbird
internal import PealCore

/// What Hummingbird carries along with a request.
package struct APIContext: RequestContext {
    package var coreContext: CoreRequestContextStorage

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
    }
}

/// The whole HTTP surface. Routes are matched by the gate and not by Hummingbird's own table: paths are normalised
/// first, a known path with a wrong method answers 405, and every refusal is written in its dialect's envelope.
package func buildRouter(_ services: APIServices) -> Router<APIContext> {
    var routes = RouteTable()
    routes.add(NativeRoutes(services).all)
    routes.add(ContextPushRoutes(services).all)
    routes.add(PivotalRoutes(services).all)
    routes.add(RichieRoutes(services).all)
    routes.add(DevtodevRoutes(services).all)
    routes.add(HealthRoutes(services).all)
    if services.options.servesMetrics { routes.add(HealthRoutes(services).metrics) }
    return router(of: routes, services)
}

/// Only `/metrics`, for a port of its own.
package func buildOperationsRouter(_ services: APIServices) -> Router<APIContext> {
    var routes = RouteTable()
    routes.add(HealthRoutes(services).metrics)
    return router(of: routes, services)
}

private func router(of routes: RouteTable, _ services: APIServices) -> Router<APIContext> {
    let router = Router(context: APIContext.self)
    router.add(middleware: Gate(routes: routes, services: services))
    return router
}
