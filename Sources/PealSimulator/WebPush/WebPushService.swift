/// A push service of browsers (RFC 8030), which can read what it is given since it holds the subscriptions' keys.
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
        // The fast mode spends nothing on keys.
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
