internal import HTTPTypes
internal import Logging
internal import PealCore

/// What the log and the metrics say about a request, as for requests of the API. The path may contain ids of people, so
/// only its pattern is named.
struct AccessLine {
    let requestID: String
    let method: HTTPRequest.Method
    let address: String
    /// Below `/console/`; nil for an unknown path.
    var route: String?
    /// nil without a session.
    var actor: Actor?

    func write(status: Int, after duration: Duration, _ services: ConsoleServices) {
        let route = route.map { "/console/\($0)" } ?? "none"
        services.operations.answered(method, route, status: status, after: duration)
        let who = actor.map { actor in actor.name.map { "\(actor.id) (\($0))" } ?? actor.id } ?? "none"
        let microseconds = Int(duration / .microseconds(1))
        services.logger.info(
            "answered a request",
            metadata: [
                "request_id": "\(requestID)", "method": "\(method.rawValue)", "route": "\(route)",
                "status": "\(status)",
                "duration_ms": "\(Double(microseconds) / 1000)", "actor": "\(who)", "address": "\(address)",
            ])
    }
}
