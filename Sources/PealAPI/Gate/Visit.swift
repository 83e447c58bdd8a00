internal import PealCore
internal import Synchronization

/// Collects what is known about a request while it is handled, for the log, the metrics and the audit.
final class Visit: Sendable {
    let requestID: String
    let address: ClientAddress
    /// When the request arrived.
    let at: Timestamp
    /// The message that the request creates.
    let noted = NotedMessage()

    /// What counts against the limits of the caller, once for each request: a caller that a large body names is checked
    /// several times while the body is received.
    enum Charge: Hashable {
        case request(KeyID)
        /// A wrong secret.
        case failure(String)
    }

    private struct State {
        var route: String?
        var actor: Actor?
        var app: AppID?
        var handledAt: Duration?
        var charges: Set<Charge> = []
    }

    private let state = Mutex(State())

    init(requestID: String, address: ClientAddress, at now: Timestamp) {
        self.requestID = requestID
        self.address = address
        at = now
    }

    /// The pattern of the path, which contains no ids; nil if no endpoint matched.
    var route: String? { state.withLock { $0.route } }
    /// nil while the caller is unknown.
    var actor: Actor? { state.withLock { $0.actor } }
    /// The app that the path names or the caller belongs to, whether it exists or not.
    var app: AppID? { state.withLock { $0.app } }

    func matched(_ endpoint: Endpoint, _ parameters: [String: String]) {
        let app = parameters["app"].flatMap { AppID($0) }
        state.withLock {
            $0.route = endpoint.path
            $0.app = app
        }
    }

    /// When the handler began; nil before.
    var handledAt: Duration? { state.withLock { $0.handledAt } }

    func handled(at uptime: Duration) { state.withLock { $0.handledAt = uptime } }

    /// Whether this is the first charge of its kind; the next one is not.
    func isFirst(_ charge: Charge) -> Bool { state.withLock { $0.charges.insert(charge).inserted } }

    func wasCharged(_ charge: Charge) -> Bool { state.withLock { $0.charges.contains(charge) } }

    func admitted(_ caller: Caller) {
        let (actor, app) = (caller.actor, caller.app?.id)
        state.withLock {
            $0.actor = actor
            $0.app = $0.app ?? app
        }
    }

    /// How the caller appears in the log.
    var actorText: String {
        guard let actor else { return "none" }
        return actor.name.map { "\(actor.id) (\($0))" } ?? actor.id
    }
}
