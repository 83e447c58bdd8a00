/// APNs, on one of its two listeners.
struct APNsService: PushService {
    let provider = PushProvider.apns
    let environment: PushEnvironment
    let device: APNsJudge
    let broadcast: BroadcastJudge
    let policy: APNsConnectionPolicy
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

    func answer(_ fault: FaultAnswer, to acceptance: Acceptance) -> HTTPAnswer {
        answer(fault.status, reason: fault.reason, timestamp: fault.timestamp, headers: acceptance.answer.headers)
    }

    func conclude(_ reply: inout ConnectionReply, refusal: String?, memory: inout ConnectionMemory) {
        policy.conclude(&reply, refusal: refusal, memory: &memory)
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
                at: milliseconds, provider: provider, environment: environment, device: device, id: id,
                headersJSON: InboxItem.headersJSON(request.headers), payload: request.body, isBroadcast: isBroadcast)
            return .accepted(
                Acceptance(
                    device: device, id: id, answer: HTTPAnswer(200, headers: headers),
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
    ) -> HTTPAnswer {
        guard status != 200 else { return HTTPAnswer(200, headers: headers) }
        return .json(status, APNsReason.json(reason, timestamp), headers: headers)
    }
}

/// How APNs treats a connection for what came over it: more streams for a good provider token, fewer after a refusal
/// (as it once did), and the end after too many errors.
struct APNsConnectionPolicy: Sendable {
    /// Points of errors that a connection may collect.
    let errorsPerConnectionMax: Int
    /// Whether a refusal lowers the stream limit to 1 until the next success.
    let slowsDownAfterRefusal: Bool

    /// Makes up its mind about the connection after one reply. `refusal` is the reason of a refusal.
    func conclude(_ reply: inout ConnectionReply, refusal: String?, memory: inout ConnectionMemory) {
        guard case .answer(let answer) = reply.deed else { return }
        openStreams(answer, &reply, &memory)
        // 410 tells of the device and not of the sender; errors of APNs itself are not the sender's either.
        guard (400..<500).contains(answer.status), answer.status != 410 else { return }
        memory.errorPoints += refusal == APNsReason.badDeviceToken.rawValue ? 2 : 1
        if memory.errorPoints > errorsPerConnectionMax { reply.isLast = true }
    }

    /// The first request with a good provider token opens the streams, and a success does after a slowdown.
    private func openStreams(_ answer: HTTPAnswer, _ reply: inout ConnectionReply, _ memory: inout ConnectionMemory) {
        let isFirst = memory.isAuthenticated && !memory.isOpened
        if isFirst { memory.isOpened = true }
        if slowsDownAfterRefusal, (400..<500).contains(answer.status), answer.status != 410 {
            memory.isSlowedDown = true
            if !isFirst { reply.laterStreamLimit = 1 }
        } else if isFirst || memory.isSlowedDown && answer.status == 200 {
            memory.isSlowedDown = false
            if reply.streamLimit == nil { reply.laterStreamLimit = SimulatorLimits.streamsMax }
        }
    }
}

/// APNs in the fast mode: the device is in the path, and a success has no body.
struct FastAPNs: FastService {
    let expired = APNsService.expired
    let tooLarge = FaultAnswer(status: 413, reason: APNsReason.payloadTooLarge.rawValue)
    let successBody: [UInt8] = []

    func accessToken(path: UnsafeRawBufferPointer) -> [UInt8]? { nil }

    func device(
        path: UnsafeRawBufferPointer, _ fingerprint: UInt64, _ body: UnsafeRawBufferPointer
    ) -> (UnsafeRawBufferPointer, UInt64) {
        (path, fingerprint)
    }

    func writeSuccess(id: UnsafeRawBufferPointer, stream: UInt32, _ writer: inout FastWriter) {
        writer.answer(200, apnsID: id, stream: stream, isLast: true)
    }

    func answer(_ fault: FaultAnswer, id: UnsafeRawBufferPointer) -> HTTPAnswer {
        var answer = HTTPAnswer.json(fault.status, APNsReason.json(fault.reason, fault.timestamp))
        answer.headers = [("apns-id", String(decoding: id, as: UTF8.self))]
        return answer
    }
}
