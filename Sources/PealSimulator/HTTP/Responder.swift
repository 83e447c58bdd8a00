/// Answers the requests to one service: has the service judge a request, applies faults, and counts the result.
final class ServiceResponder: Responder {
    let service: any PushService
    let inbox: Inbox
    let faults: FaultPlan
    let clock: SimulatorClock

    init(service: any PushService, inbox: Inbox, faults: FaultPlan, clock: SimulatorClock) {
        self.service = service
        self.inbox = inbox
        self.faults = faults
        self.clock = clock
    }

    var streamsAtFirst: Int { service.streamsAtFirst }

    func receive(_ request: PushRequest, memory: inout ConnectionMemory) -> ConnectionReply {
        var reply: ConnectionReply
        let refusal: String?
        switch service.judge(request, memory: &memory, milliseconds: clock.milliseconds) {
        case .refused(let reason, let answer):
            inbox.refuse(reason, provider: service.provider)
            (reply, refusal) = (ConnectionReply(answer), reason)
        case .declined(let answer): (reply, refusal) = (ConnectionReply(answer), nil)
        case .accepted(let acceptance): (reply, refusal) = meet(acceptance)
        }
        service.conclude(&reply, refusal: refusal, memory: &memory)
        return reply
    }

    /// Applies faults to a request that passed the checks. Returns the reply, and the reason if it is a refusal.
    private func meet(_ acceptance: Acceptance) -> (ConnectionReply, String?) {
        if let credential = acceptance.credential, faults.expired.contains(credential) {
            return refuse(service.expired, acceptance)
        }
        let fault = faults.decide(
            device: acceptance.device, provider: service.provider, environment: service.environment,
            kind: acceptance.kind)
        guard let fault else {
            deliver(acceptance)
            return (ConnectionReply(acceptance.answer), nil)
        }
        var (reply, reason) = settle(fault, acceptance)
        reply.delayMilliseconds = fault.delayMilliseconds
        return (reply, reason)
    }

    private func settle(_ fault: Fault, _ acceptance: Acceptance) -> (ConnectionReply, String?) {
        if fault.isDelivering { deliver(acceptance) }
        var passing = ConnectionReply(acceptance.answer)
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
            return (ConnectionReply(usual), nil)
        case .answer(let answer): return refuse(answer, acceptance, isCounted: !fault.isDelivering)
        case .expireToken:
            if let credential = acceptance.credential { faults.expired.insert(credential) }
            return refuse(service.expired, acceptance, isCounted: !fault.isDelivering)
        case .reset, .refuse, .goAway, .close, .silence: return (disturb(fault, acceptance), nil)
        }
    }

    private func refuse(_ fault: FaultAnswer, _ acceptance: Acceptance, isCounted: Bool = true) -> (
        ConnectionReply, String?
    ) {
        if isCounted, acceptance.item != nil { inbox.refuse(fault.name, provider: service.provider) }
        var answer = service.answer(fault, to: acceptance)
        answer.set(fault.headers)
        if let body = fault.body { answer.body = Array(body.utf8) }
        return (ConnectionReply(answer), fault.reason)
    }

    private func disturb(_ fault: Fault, _ acceptance: Acceptance) -> ConnectionReply {
        if !fault.isDelivering, acceptance.item != nil {
            inbox.disturb(fault.action.disturbance ?? "other", provider: service.provider)
        }
        switch fault.action {
        case .reset(let code): return ConnectionReply(.reset(code: code))
        case .refuse: return ConnectionReply(.refuse)
        case .goAway(let reason): return ConnectionReply(.goAway(reason: reason))
        case .close: return ConnectionReply(.close)
        case .pass, .answer, .streamLimit, .silence, .expireToken, .clockSkew: return ConnectionReply(.silence)
        }
    }

    private func deliver(_ acceptance: Acceptance) {
        if let item = acceptance.item { inbox.accept(item) }
    }
}

/// Answers the requests of a listener. The handlers of its connections carry the replies out.
protocol Responder: Sendable {
    /// The number of concurrent streams on a new HTTP/2 connection.
    var streamsAtFirst: Int { get }
    /// Bytes of a request body that are kept.
    var bodyBytesMax: Int { get }

    /// Answers `request`. `memory` is that of its connection.
    func receive(_ request: PushRequest, memory: inout ConnectionMemory) -> ConnectionReply
}

extension Responder {
    var streamsAtFirst: Int { SimulatorLimits.streamsMax }
    var bodyBytesMax: Int { SimulatorLimits.requestBodyBytesMax }
}

/// How a connection responds to one request.
struct ConnectionReply: Sendable {
    /// How a request ends.
    enum Action: Sendable {
        case answer(HTTPAnswer)
        /// RST_STREAM with this HTTP/2 error code; closes the connection over HTTP/1.1.
        case reset(code: Int)
        /// RST_STREAM with REFUSED_STREAM; closes the connection over HTTP/1.1.
        case refuse
        /// GOAWAY with this request and later ones unprocessed; closes the connection over HTTP/1.1.
        case goAway(reason: String)
        case close
        case silence
    }

    var action: Action
    /// The number of concurrent streams to allow with SETTINGS before the answer.
    var streamLimit: Int?
    /// The stream limit after the answer.
    var laterStreamLimit: Int?
    var delayMilliseconds: Int64 = 0
    /// Whether to close the connection after the answer.
    var isLast = false

    init(_ action: Action, delayMilliseconds: Int64 = 0) {
        self.action = action
        self.delayMilliseconds = delayMilliseconds
    }

    init(_ answer: HTTPAnswer) {
        action = .answer(answer)
    }
}

/// A response over HTTP/1.1 or HTTP/2: a status, headers and a body.
struct HTTPAnswer: Sendable {
    var status: Int
    /// Names in lower case and values. `content-length` is added later.
    var headers: [(name: String, value: String)]
    var body: [UInt8]

    init(_ status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// An answer with a JSON body.
    static func json(_ status: Int, _ text: String, headers: [(name: String, value: String)] = []) -> HTTPAnswer {
        HTTPAnswer(status, headers: [("content-type", "application/json")] + headers, body: Array(text.utf8))
    }

    /// `{"error": message}`: an error of the control interface.
    static func failure(_ status: Int, _ message: String) -> HTTPAnswer {
        .json(status, JSONText.object([("error", JSONText.quoted(message))]))
    }

    /// 200, or 404 if the object that the request names does not exist.
    static func found(_ isFound: Bool) -> HTTPAnswer { isFound ? .done : .failure(404, "not found") }

    /// `{"ok": true}`.
    static let done = HTTPAnswer.json(200, "{\"ok\":true}")

    /// Adds `others`, which replace headers with the same name.
    mutating func set(_ others: [(name: String, value: String)]) {
        headers.removeAll { header in others.contains { $0.name == header.name } }
        headers += others
    }
}

/// Tells a connection to send GOAWAY with `reason` and to close.
struct ShutdownEvent: Sendable {
    let reason: String
}
