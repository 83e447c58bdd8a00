/// A fault: what happens, after what delay, and whether the device still gets the notification.
struct Fault: Sendable, Equatable {
    var action: FaultAction
    /// Milliseconds before the answer.
    var delayMilliseconds: Int64 = 0
    /// Whether the notification reaches the inbox although the answer says otherwise or is lost.
    var isProcessed = false

    /// Whether the notification reaches the inbox.
    var isDelivering: Bool {
        switch action {
        case .pass, .streamLimit, .clockSkew: true
        case .answer(let answer) where answer.isBareSuccess: true
        case .answer, .reset, .refuse, .goAway, .close, .silence, .expireToken: isProcessed
        }
    }

    /// Members of JSON or YAML that describe a fault.
    static let members = FaultAnswer.members.union(["action", "delay_ms", "code", "streams", "seconds", "processed"])

    /// Reads a fault from the members of a JSON or YAML object. Throws a `SimulatorError` that names the member, with
    /// `path` before it.
    init(_ members: [String: Any], path: String) throws {
        let fields = MemberReader(members, path: path)
        delayMilliseconds = try fields.integer("delay_ms", in: 0...SimulatorLimits.delayMillisecondsMax) ?? 0
        isProcessed = try fields.boolean("processed") ?? false
        let standard = members["status"] == nil && members["error_code"] == nil ? "pass" : "answer"
        action = try Self.action(try fields.text("action") ?? standard, fields)
    }

    private static func action(_ name: String, _ fields: MemberReader) throws -> FaultAction {
        switch name {
        case "pass": return .pass
        case "answer": return .answer(try FaultAnswer(fields))
        case "reset": return .reset(code: Int(try fields.integer("code", in: 0...0xFFFF_FFFF) ?? 8))
        case "refuse": return .refuse
        case "goaway": return .goAway(reason: try fields.text("reason") ?? "Shutdown")
        case "close": return .close
        case "stream_limit": return .streamLimit(Int(try need("streams", in: 0...0x7FFF_FFFF, fields)))
        case "silence": return .silence
        case "expire_provider_token": return .expireToken
        case "clock_skew": return .clockSkew(seconds: try need("seconds", in: SimulatorLimits.skewSeconds, fields))
        default: throw SimulatorError("\(fields.path)action: unknown action '\(name)'")
        }
    }

    private static func need(_ name: String, in range: ClosedRange<Int64>, _ fields: MemberReader) throws -> Int64 {
        guard let number = try fields.integer(name, in: range) else {
            throw SimulatorError("\(fields.path)\(name): missing")
        }
        return number
    }
}

/// What a fault does instead of the network's own answer.
enum FaultAction: Sendable, Equatable {
    /// The usual answer, after the fault's delay.
    case pass
    /// This answer instead of the network's own.
    case answer(FaultAnswer)
    /// RST_STREAM with this HTTP/2 error code.
    case reset(code: Int)
    /// RST_STREAM with REFUSED_STREAM: the request was not processed.
    case refuse
    /// GOAWAY with a reason: this request and later ones are unprocessed, and the connection closes.
    case goAway(reason: String)
    /// The connection closes at once.
    case close
    /// SETTINGS with this many concurrent streams, and the usual answer.
    case streamLimit(Int)
    /// No answer: the stream stays open.
    case silence
    /// The provider token or access token of the request counts as expired from now on.
    case expireToken
    /// The simulator's clock is this many seconds ahead from now on. The answer is the usual one.
    case clockSkew(seconds: Int64)

    /// The name in the summary of a request without an answer; nil if there is one.
    var disturbance: String? {
        switch self {
        case .pass, .answer, .streamLimit, .expireToken, .clockSkew: nil
        case .reset: "reset"
        case .refuse: "refused_stream"
        case .goAway: "goaway"
        case .close: "closed"
        case .silence: "silence"
        }
    }
}

/// An answer that replaces the network's own, in terms of the network.
struct FaultAnswer: Sendable, Equatable {
    var status: Int
    /// APNs' `reason`, FCM's `errorCode`, a status or description of WNS or MPNS, or the reason of a Web Push service.
    var reason = ""
    /// Milliseconds since 1970, for 410 of APNs.
    var timestamp: Int64?
    /// Further headers, names in lower case; `retry-after` is one of them.
    var headers: [(name: String, value: String)] = []
    /// A body that replaces the network's.
    var body: String?

    /// Whether this is a success with the network's usual body.
    var isBareSuccess: Bool { (200..<300).contains(status) && reason.isEmpty && body == nil }

    /// The name in the summary: the reason, or else the status.
    var name: String { reason.isEmpty ? String(status) : reason }

    static func == (one: FaultAnswer, other: FaultAnswer) -> Bool {
        one.status == other.status && one.reason == other.reason && one.timestamp == other.timestamp
            && one.body == other.body && one.headers.elementsEqual(other.headers) { $0 == $1 }
    }

    /// Members of JSON or YAML that describe an answer.
    static let members: Set<String> = [
        "status", "reason", "error_code", "timestamp", "retry_after", "headers", "body",
    ]

    /// Reads an answer. An `error_code` implies its status. Throws a `SimulatorError` that names the member.
    init(_ fields: MemberReader) throws {
        let code = try fields.text("error_code")
        let standard = code.flatMap(SimulatedNetworks.status)
        guard let status = try fields.integer("status", in: 200...599).map({ Int($0) }) ?? standard else {
            throw SimulatorError("\(fields.path)status: missing")
        }
        self.status = status
        reason = try code ?? fields.text("reason") ?? ""
        timestamp = try fields.integer("timestamp", in: 0...Int64.max)
        body = try fields.text("body")
        if let seconds = try fields.integer("retry_after", in: 0...Int64.max) {
            headers.append(("retry-after", String(seconds)))
        }
        let others = MemberReader(try fields.object("headers"), path: fields.path + "headers.")
        for name in others.members.keys.sorted() {
            guard let value = try others.text(name), Self.isHeader(name, value) else {
                throw SimulatorError("\(others.path)\(name): not a valid header")
            }
            headers.append((name.lowercased(), value))
        }
    }

    init(status: Int, reason: String = "", timestamp: Int64? = nil, headers: [(name: String, value: String)] = []) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.headers = headers
    }

    private static func isHeader(_ name: String, _ value: String) -> Bool {
        let isName = !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3A }
        return isName && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

/// The faults that a rule or a device's entry causes: one that is repeated, or several in sequence.
struct FaultSequence: Sendable, Equatable {
    private let faults: [Fault]
    private let isRepeated: Bool

    /// Members of JSON or YAML that describe one.
    static let members = Fault.members.union(["sequence", "repeat"])

    /// Reads `sequence` (with `repeat`), or else one fault. Throws a `SimulatorError` that names the member after
    /// `path`.
    init(_ members: [String: Any], path: String) throws {
        let fields = MemberReader(members, path: path)
        guard let steps = members["sequence"] else {
            guard members["repeat"] == nil else { throw SimulatorError("\(path)repeat: allowed only with sequence") }
            faults = [try Fault(members, path: path)]
            isRepeated = true
            return
        }
        guard let steps = steps as? [Any], (1...SimulatorLimits.sequenceStepsMax).contains(steps.count) else {
            throw SimulatorError("\(path)sequence: must be a list of 1 to \(SimulatorLimits.sequenceStepsMax) faults")
        }
        if let other = Fault.members.sorted().first(where: { members[$0] != nil }) {
            throw SimulatorError("\(path)\(other): not allowed with sequence")
        }
        isRepeated = try fields.boolean("repeat") ?? false
        faults = try steps.enumerated().map { index, step in
            let path = "\(path)sequence[\(index)]."
            guard let members = step as? [String: Any] else {
                throw SimulatorError("\(path.dropLast()): must be an object")
            }
            try MemberReader(members, path: path).allowOnly(Fault.members)
            return try Fault(members, path: path)
        }
    }

    /// The fault number `time`, from 0; nil after the end of the sequence.
    func fault(_ time: Int64) -> Fault? {
        let count = Int64(faults.count)
        guard time < count || isRepeated else { return nil }
        return faults[Int(time % count)]
    }
}
