/// One listener's desk: takes a whole request, has its network judge it, lets the faults at it, keeps the books, and
/// says what to answer.
final class NetworkDesk: RequestDesk {
    let network: any PushNetwork
    let inbox: Inbox
    let faults: FaultPlan
    let clock: SimulatorClock

    init(network: any PushNetwork, inbox: Inbox, faults: FaultPlan, clock: SimulatorClock) {
        self.network = network
        self.inbox = inbox
        self.faults = faults
        self.clock = clock
    }

    var streamsAtFirst: Int { network.streamsAtFirst }

    func receive(_ request: PushRequest, memory: inout ConnectionMemory) -> Reply {
        var reply: Reply
        let refusal: String?
        switch network.judge(request, memory: &memory, milliseconds: clock.milliseconds) {
        case .refused(let reason, let answer):
            inbox.refuse(reason, provider: network.provider)
            (reply, refusal) = (Reply(answer), reason)
        case .declined(let answer): (reply, refusal) = (Reply(answer), nil)
        case .accepted(let acceptance): (reply, refusal) = meet(acceptance)
        }
        network.conclude(&reply, refusal: refusal, memory: &memory)
        return reply
    }

    /// Lets the faults at a request that passed the checks; gives the reply, and its reason when it refuses.
    private func meet(_ acceptance: Acceptance) -> (Reply, String?) {
        if let credential = acceptance.credential, faults.expired.contains(credential) {
            return refuse(network.expired, acceptance)
        }
        let fault = faults.decide(
            device: acceptance.device, provider: network.provider, environment: network.environment,
            kind: acceptance.kind)
        guard let fault else {
            deliver(acceptance)
            return (Reply(acceptance.answer), nil)
        }
        var (reply, reason) = settle(fault, acceptance)
        reply.delayMilliseconds = fault.delayMilliseconds
        return (reply, reason)
    }

    private func settle(_ fault: Fault, _ acceptance: Acceptance) -> (Reply, String?) {
        if fault.isDelivering { deliver(acceptance) }
        var passing = Reply(acceptance.answer)
        switch fault.action {
        case .pass: return (passing, nil)
        case .clockSkew(let seconds):
            faults.skew.set(seconds: seconds)
            return (passing, nil)
        case .streamLimit(let streams):
            passing.streamLimit = streams
            return (passing, nil)
        case .answer(let answer) where answer.isBareSuccess:
            var usual = acceptance.answer
            usual.status = answer.status
            usual.set(answer.headers)
            return (Reply(usual), nil)
        case .answer(let answer): return refuse(answer, acceptance, isCounted: !fault.isDelivering)
        case .expireToken:
            if let credential = acceptance.credential { faults.expired.insert(credential) }
            return refuse(network.expired, acceptance, isCounted: !fault.isDelivering)
        case .reset, .refuse, .goAway, .close, .silence: return (disturb(fault, acceptance), nil)
        }
    }

    private func refuse(_ fault: FaultAnswer, _ acceptance: Acceptance, isCounted: Bool = true) -> (Reply, String?) {
        if isCounted, acceptance.item != nil { inbox.refuse(fault.name, provider: network.provider) }
        var answer = network.answer(fault, to: acceptance)
        answer.set(fault.headers)
        if let body = fault.body { answer.body = Array(body.utf8) }
        return (Reply(answer), fault.reason)
    }

    private func disturb(_ fault: Fault, _ acceptance: Acceptance) -> Reply {
        if !fault.isDelivering, acceptance.item != nil {
            inbox.disturb(fault.action.disturbance ?? "other", provider: network.provider)
        }
        switch fault.action {
        case .reset(let code): return Reply(.reset(code: code))
        case .refuse: return Reply(.refuse)
        case .goAway(let reason): return Reply(.goAway(reason: reason))
        case .close: return Reply(.close)
        default: return Reply(.silence)
        }
    }

    private func deliver(_ acceptance: Acceptance) {
        if let item = acceptance.item { inbox.accept(item) }
    }
}

/// Where the requests of a listener go. The handlers of its connections only carry the replies out.
protocol RequestDesk: Sendable {
    /// The concurrent streams that a new HTTP/2 connection allows.
    var streamsAtFirst: Int { get }
    /// Bytes of a request body that are kept.
    var bodyBytesMax: Int { get }

    /// Deals with `request`, which came on the connection that `memory` belongs to.
    func receive(_ request: PushRequest, memory: inout ConnectionMemory) -> Reply
}

extension RequestDesk {
    var streamsAtFirst: Int { SimulatorLimits.streamsMax }
    var bodyBytesMax: Int { SimulatorLimits.requestBodyBytesMax }
}
