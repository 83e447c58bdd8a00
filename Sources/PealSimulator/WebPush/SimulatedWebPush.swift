/// Web Push: the push service of a browser, and the subscriptions that tests make there.
struct SimulatedWebPush: SimulatedNetwork {
    static let name = "webpush"

    let subscriptions: WebPushSubscriptions
    private let parts: SharedParts

    init(_ parts: SharedParts) {
        self.parts = parts
        subscriptions = WebPushSubscriptions(ids: parts.ids)
    }

    var listeners: [Listener] {
        let service = WebPushService(mode: parts.mode, subscriptions: subscriptions, ids: parts.ids)
        return [parts.listener(.webPush, .secureEither, service)]
    }

    func publish(at description: SimulatorDescription) -> [(String, String)] {
        subscriptions.open(at: description.url(.webPush))
        return []
    }

    /// `POST /webpush/subscriptions` and `DELETE /webpush/subscriptions?endpoint=` of the control interface.
    func control(_ request: ControlRequest) throws -> HTTPAnswer? {
        guard request.path == ["webpush", "subscriptions"] else { return nil }
        switch request.method {
        case "POST":
            let reader = MemberReader(request.body.isEmpty ? [:] : try request.object(), path: "")
            try reader.allowOnly(["application_server_key"])
            let key = try reader.text("application_server_key")
            return .json(201, try subscriptions.make(applicationServerKey: key))
        case "DELETE": return .found(subscriptions.unsubscribe(request.query["endpoint"] ?? ""))
        default: return nil
        }
    }
}

extension PushProvider {
    /// Web Push (RFC 8030).
    package static let webPush = PushProvider(SimulatedWebPush.self)
}

extension ListenerName {
    static let webPush = ListenerName(member: "webpush_url")
}
