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

/// A push service of browsers (RFC 8030). It can decrypt messages because it holds the subscriptions' keys.
struct WebPushService: PushService {
    let provider = PushProvider.webPush
    let mode: SimulatorMode
    let subscriptions: WebPushSubscriptions
    let ids: IDSource

    var expired: FaultAnswer { FaultAnswer(status: 403, reason: "ExpiredJwtToken") }

    func judge(_ request: PushRequest, memory: inout ConnectionMemory, milliseconds: Int64) -> Judgement {
        let id = String(request.route.dropFirst(WebPushSubscriptions.route.count))
        guard mode == .strict else {
            return accept(request, subscriptions.find(id), nil, milliseconds)
        }
        do throws(WebPushRefusal) {
            let subscription = try find(request, id)
            guard request.method == "POST" else { throw WebPushRefusal(405, 0, "MethodNotAllowed") }
            let credential = try VAPIDCheck.check(
                request, applicationServerKey: subscription.applicationServerKey, nowSeconds: milliseconds / 1_000)
            try WebPushHeaderCheck.check(request)
            return try deliver(request, subscription, credential, milliseconds)
        } catch {
            return .refused(reason: error.reason, error.answer)
        }
    }

    func answer(_ fault: FaultAnswer, to acceptance: Acceptance) -> HTTPAnswer {
        WebPushRefusal(fault).answer
    }

    private func find(_ request: PushRequest, _ id: String) throws(WebPushRefusal) -> BrowserSubscription {
        guard request.path.hasPrefix(WebPushSubscriptions.route), let subscription = subscriptions.find(id) else {
            throw WebPushRefusal(404, 102, "NotFound")
        }
        guard !subscription.isGone else { throw WebPushRefusal(410, 106, "Unregistered") }
        return subscription
    }

    private func deliver(
        _ request: PushRequest, _ subscription: BrowserSubscription, _ credential: UInt64?, _ milliseconds: Int64
    ) throws(WebPushRefusal) -> Judgement {
        if !request.body.isEmpty, WebPushDecryption.open(request.body, for: subscription) == nil {
            throw WebPushRefusal(400, 110, "BadCryptoKeys")
        }
        return accept(request, subscription, credential, milliseconds)
    }

    private func accept(
        _ request: PushRequest, _ subscription: BrowserSubscription?, _ credential: UInt64?, _ milliseconds: Int64
    ) -> Judgement {
        // Fast mode does not use keys.
        let plain = mode == .fast ? nil : subscription.flatMap { WebPushDecryption.open(request.body, for: $0) }
        let id = "\(request.origin)/message/\(ids.uuid())"
        let wanted = request.value("ttl").flatMap(Int64.init) ?? 0
        let answer = HTTPAnswer(
            201,
            headers: [("location", id), ("ttl", String(min(wanted, SimulatorLimits.webPushLifeSecondsMax)))])
        let item = InboxItem(
            at: milliseconds, provider: .webPush, device: request.uri, id: id,
            headersJSON: InboxItem.headersJSON(request.headers), payload: PayloadJSON.of(plain ?? request.body))
        return .accepted(
            Acceptance(device: request.uri, id: id, answer: answer, credential: credential, item: item))
    }
}
