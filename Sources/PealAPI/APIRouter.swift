package import Hummingbird
package import NIOCore
internal import PealCore

/// The context that Hummingbird passes with a request.
package struct APIContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The address of the connection's peer.
    package let peer: SocketAddress?

    package init(source: ApplicationRequestContextSource) {
        peer = source.channel.remoteAddress
        coreContext = CoreRequestContextStorage(source: source)
    }
}

/// The router of the whole HTTP API. The gate matches routes, not Hummingbird's own table: it normalizes paths first,
/// answers 405 to a known path with the wrong method, and writes every refusal in the dialect's envelope.
package func buildRouter(_ services: APIServices) -> Router<APIContext> {
    var routes = RouteTable()
    let endpoints = apiEndpoints(services)
    routes.add(services.options.hasAdminListener ? endpoints.filter { !$0.access.isAdmins } : endpoints)
    routes.add(openAPI(services, endpoints).all)
    return router(of: routes, services)
}

/// The router of the listener for admins, which serves everything.
package func buildAdminRouter(_ services: APIServices) -> Router<APIContext> {
    var routes = RouteTable()
    let health = HealthRoutes(services, showsDetails: true)
    let endpoints = Dialects.all.flatMap { $0.endpoints(services) } + health.all + health.metrics
    routes.add(endpoints)
    routes.add(openAPI(services, endpoints).all)
    return router(of: routes, services)
}

/// Every endpoint except the OpenAPI document.
func apiEndpoints(_ services: APIServices) -> [Endpoint] {
    Dialects.all.flatMap { $0.endpoints(services) }
        + HealthRoutes(services, showsDetails: !services.options.hasAdminListener).all
        + (services.options.servesMetrics && !services.options.hasAdminListener
            ? HealthRoutes(services, showsDetails: false).metrics : [])
}

private func openAPI(_ services: APIServices, _ endpoints: [Endpoint]) -> OpenAPIRoutes {
    OpenAPIRoutes(options: services.options, time: services.time, endpoints: endpoints)
}

/// Every method of every path, such as `GET /peal/v1/apps/{app}`.
package func servedOperations(_ services: APIServices) -> [String] {
    let endpoints = apiEndpoints(services)
    let all = endpoints + openAPI(services, endpoints).all
    return all.map { "\($0.method) \(APIOperation.template(of: $0.path))" }
}

/// Only `/metrics`, for a separate port.
package func buildOperationsRouter(_ services: APIServices) -> Router<APIContext> {
    var routes = RouteTable()
    routes.add(HealthRoutes(services, showsDetails: false).metrics)
    return router(of: routes, services)
}

private func router(of routes: RouteTable, _ services: APIServices) -> Router<APIContext> {
    let router = Router(context: APIContext.self)
    router.add(middleware: Gate(routes: routes, services: services))
    return router
}
