/// APNs, on one of its two listeners.
struct APNsNetwork: PushNetwork {
    let provider = PushProvider.apns
    let environment: PushEnvironment
    let device: APNsJudge
    let broadcast: BroadcastJudge
    let manners: APNsManners
    let ids: IDSource

    /// What APNs says to a provider token that is too old.
    static let expired = FaultAnswer(status: 403, reason: APNsReason.expiredProviderToken.rawValue)

    /// One stream, until somebody has authenticated.
    var streamsAtFirst: Int { 1 }

    var expired: FaultAnswer { Self.expired }

    func judge(_ request: PushRequest, memory: inout ConnectionMemory, milliseconds: Int64) -> Judgement {
        let now = milliseconds / 1_000
        if BroadcastJudge.concerns(request) {
            let id = BroadcastJudge.requestID(request) ?? ids.uuid()
            return outcome(of: request, id: id, milliseconds) { () throws(APNsRefusal) in
                try broadcast.judge(request, memory: &memory, nowSeconds: now)
            }
        }
        let id = request.value("apns-id").flatMap { APNsJudge.isUUID($0) ? $0 : nil } ?? ids.uuid()
        return outcome(of: request, id: id, milliseconds) { () throws(APNsRefusal) in
            switch device.judge(request, memory: &memory, nowSeconds: now) {
            case .accepted(let device): return device
            case .refused(let reason): throw APNsRefusal(reason)
            }
        }
    }

    func answer(_ fault: FaultAnswer, to acceptance: Acceptance) -> Answer {
        answer(fault.status, reason: fault.reason, timestamp: fault.timestamp, headers: acceptance.answer.headers)
    }

    func conclude(_ reply: inout Reply, refusal: String?, memory: inout ConnectionMemory) {
        manners.conclude(&reply, refusal: refusal, memory: &memory)
    }

    private func outcome(
        of request: PushRequest, id: String, _ milliseconds: Int64, _ check: () throws(APNsRefusal) -> String
    ) -> Judgement {
        let isBroadcast = BroadcastJudge.concerns(request)
        var headers = [(name: isBroadcast ? "apns-request-id" : "apns-id", value: id)]
        if environment == .sandbox { headers.append(("apns-unique-id", ids.uuid())) }
        do throws(APNsRefusal) {
            let device = try check()
            let item = InboxItem(
                at: milliseconds, environment: environment, device: device, id: id,
                headersJSON: InboxItem.headersJSON(request.headers), payload: request.body, isBroadcast: isBroadcast)
            return .accepted(
                Acceptance(
                    device: device, id: id, answer: Answer(200, headers: headers),
                    credential: request.credentials("bearer").map { Fingerprint.of($0, isFoldingCase: false) },
                    item: item))
        } catch {
            let reason = error.reason
            return .refused(
                reason: reason.rawValue, answer(reason.status, reason: reason.rawValue, headers: headers))
        }
    }

    private func answer(
        _ status: Int, reason: String, timestamp: Int64? = nil, headers: [(name: String, value: String)]
    ) -> Answer {
        guard status != 200 else { return Answer(200, headers: headers) }
        return .json(status, APNsReason.json(reason, timestamp), headers: headers)
    }
}
