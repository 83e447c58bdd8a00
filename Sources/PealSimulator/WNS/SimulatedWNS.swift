/// WNS: channels and both of Microsoft's token endpoints on one listener (HTTP/1.1).
struct SimulatedWNS: SimulatedNetwork {
    static let name = "wns"

    let account: MicrosoftAccount
    private let parts: SharedParts

    init(_ parts: SharedParts) {
        self.parts = parts
        account = MicrosoftAccount(ids: parts.ids)
    }

    var listeners: [Listener] {
        let authorization = MicrosoftAuthorization(
            account: account, accessTokens: parts.accessTokens, lifeSeconds: parts.options.accessTokenSeconds)
        let service = WNSService(
            mode: parts.mode, judge: WNSJudge(accessTokens: parts.accessTokens), authorization: authorization,
            channels: parts.channelStates, ids: parts.ids)
        return [parts.listener(.wns, .secure, service)]
    }

    func publish(at description: SimulatorDescription) -> [(String, String)] {
        let url = description.url(.wns)
        return [
            ("package_sid", account.packageSID), ("client_secret", account.clientSecret),
            ("token_url", url + "/accesstoken.srf"), ("tenant_id", account.tenantID),
            ("client_id", account.clientID), ("tenant_client_secret", account.tenantClientSecret),
            ("tenant_token_url", "\(url)/\(account.tenantID)/oauth2/v2.0/token"),
        ]
    }
}

extension PushProvider {
    /// Windows Push Notification Services.
    package static let wns = PushProvider(SimulatedWNS.self)
}

extension ListenerName {
    static let wns = ListenerName(member: "wns_url")
}

/// WNS: channels and both token endpoints on one listener (HTTP/1.1).
struct WNSService: PushService {
    let provider = PushProvider.wns
    let mode: SimulatorMode
    let judge: WNSJudge
    let authorization: MicrosoftAuthorization
    let channels: ChannelStates
    let ids: IDSource

    var expired: FaultAnswer { FaultAnswer(status: 401, reason: "The access token has expired") }

    func judge(_ request: PushRequest, memory: inout ConnectionMemory, milliseconds: Int64) -> Judgement {
        if MicrosoftAuthorization.concerns(request) {
            return authorization.judge(request, milliseconds: milliseconds, mode: mode)
        }
        let headers = common(request)
        guard mode == .strict else { return accept(request, headers, milliseconds) }
        do throws(WNSRefusal) {
            try judge.judge(request, milliseconds: milliseconds)
            try checkChannel(request)
        } catch {
            return .refused(reason: String(error.status), error.answer(headers: headers))
        }
        switch channels.mark(of: request.uri) {
        case .throttled: return refuse("channelthrottled", headers)
        case .dropped: return refuse("dropped", headers)
        case .expired, .unknown, .otherApp, .limited, .disconnected, nil:
            return accept(request, headers, milliseconds)
        }
    }

    /// With a success status, a fault's reason is `X-WNS-Status`; otherwise it describes the error.
    func answer(_ fault: FaultAnswer, to acceptance: Acceptance) -> HTTPAnswer {
        guard acceptance.kind == .send else { return authorization.answer(fault) }
        let headers = acceptance.answer.headers.filter { $0.name != "x-wns-status" }
        if (200..<300).contains(fault.status) {
            return HTTPAnswer(fault.status, headers: headers + [("x-wns-status", fault.reason)])
        }
        return WNSRefusal(fault.status, fault.reason).answer(headers: headers)
    }

    private func checkChannel(_ request: PushRequest) throws(WNSRefusal) {
        switch channels.mark(of: request.uri) {
        case .expired: throw WNSRefusal(410, "The channel expired")
        case .unknown: throw WNSRefusal(404, "The channel URI is not valid or is not recognized by WNS")
        case .otherApp: throw WNSRefusal(403, "The access token does not match the channel's app")
        case .limited: throw WNSRefusal(406, "The cloud service exceeded its throttle limit")
        case .throttled, .dropped, .disconnected, nil: return
        }
    }

    /// The headers of every answer.
    private func common(_ request: PushRequest) -> [(name: String, value: String)] {
        var headers = [
            (name: "x-wns-msg-id", value: String(ids.number(), radix: 16).uppercased()),
            (name: "x-wns-debug-trace", value: "PEALSIM\(String(ids.number() & 0xFFFF, radix: 16).uppercased())"),
        ]
        if let vector = request.value("ms-cv") { headers.append(("ms-cv", vector)) }
        if request.value("x-wns-requestforstatus")?.lowercased() == "true" {
            let isAway = channels.mark(of: request.uri) == .disconnected
            headers.append(("x-wns-deviceconnectionstatus", isAway ? "disconnected" : "connected"))
        }
        return headers
    }

    /// 200, although the device receives nothing.
    private func refuse(_ status: String, _ headers: [(name: String, value: String)]) -> Judgement {
        .refused(reason: status, HTTPAnswer(200, headers: headers + [("x-wns-status", status)]))
    }

    private func accept(
        _ request: PushRequest, _ headers: [(name: String, value: String)], _ milliseconds: Int64
    ) -> Judgement {
        let id = headers[0].value
        let item = InboxItem(
            at: milliseconds, provider: .wns, device: request.uri, id: id,
            headersJSON: InboxItem.headersJSON(request.headers), payload: PayloadJSON.ofText(request.body))
        return .accepted(
            Acceptance(
                device: request.uri, id: id, answer: HTTPAnswer(200, headers: headers + [("x-wns-status", "received")]),
                credential: request.credentials("bearer").map { Fingerprint.of($0, isFoldingCase: false) }, item: item))
    }
}
