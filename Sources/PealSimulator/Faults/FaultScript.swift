import Yams

/// A list of rules, read from YAML: the first that meets a request acts.
struct FaultScript: Sendable {
    let rules: [FaultRule]
    /// The seed that the script brings along; nil for the program's.
    let seed: UInt64?
    /// Seconds by which the simulator's clock is ahead while the script is loaded.
    let clockSkewSeconds: Int64

    /// No rules.
    init() {
        rules = []
        seed = nil
        clockSkewSeconds = 0
    }

    /// Reads `yaml`. Throws a `SimulatorError` that names the line or member at fault.
    init(yaml: String) throws {
        let document: Any?
        do {
            document = try Yams.load(yaml: yaml)
        } catch {
            throw SimulatorError("script: \(error)")
        }
        guard let members = (document ?? [String: Any]()) as? [String: Any] else {
            throw SimulatorError("script: not an object")
        }
        let fields = MemberReader(members, path: "")
        try fields.allowOnly(["seed", "rules", "clock_skew_seconds"])
        guard let rules = (members["rules"] ?? []) as? [Any] else { throw SimulatorError("rules: not a list") }
        guard rules.count <= SimulatorLimits.scriptRulesMax else {
            throw SimulatorError("rules: more than \(SimulatorLimits.scriptRulesMax)")
        }
        seed = try fields.integer("seed", in: 0...Int64.max).map(UInt64.init)
        clockSkewSeconds = try fields.integer("clock_skew_seconds", in: SimulatorLimits.skewSeconds) ?? 0
        self.rules = try rules.enumerated().map { index, rule in
            guard let members = rule as? [String: Any] else { throw SimulatorError("rules[\(index)]: not an object") }
            return try FaultRule(members, path: "rules[\(index)].")
        }
    }
}

/// One rule of a script: which requests it meets, how often, and the faults it puts there.
struct FaultRule: Sendable {
    let match: FaultMatch
    /// How often the rule may act; nil without end.
    let times: Int64?
    let faults: FaultSequence

    /// Reads a rule. Throws a `SimulatorError` that names the member at fault, with `path` before it.
    init(_ members: [String: Any], path: String) throws {
        let fields = MemberReader(members, path: path)
        try fields.allowOnly(FaultSequence.members.union(["match", "times"]))
        match = try FaultMatch(MemberReader(try fields.object("match"), path: path + "match."))
        times = try fields.integer("times", in: 1...Int64.max)
        faults = try FaultSequence(members, path: path)
    }
}

/// Which requests a rule meets.
struct FaultMatch: Sendable {
    /// Devices that begin so, in either case; empty for all.
    let devicePrefix: String
    let provider: PushProvider?
    let environment: PushEnvironment?
    let kind: RequestKind
    /// Only the n-th request that meets the conditions above, counted from 1.
    let nth: Int64?
    /// Each n-th request that meets the conditions above.
    let every: Int64?
    /// Only the n-th request to each device, counted from 1.
    let attempt: Int64?
    /// The share of requests, drawn by device and attempt from the seed.
    let rate: Double?

    /// Reads a match. Throws a `SimulatorError` that names the member at fault.
    init(_ fields: MemberReader) throws {
        try fields.allowOnly([
            "device_prefix", "provider", "environment", "request", "nth", "every", "attempt", "rate",
        ])
        devicePrefix = try fields.text("device_prefix")?.lowercased() ?? ""
        provider = try fields.choice("provider", PushProvider.self)
        environment = try fields.choice("environment", PushEnvironment.self)
        kind = try fields.choice("request", RequestKind.self) ?? .send
        nth = try fields.integer("nth", in: 1...Int64.max)
        every = try fields.integer("every", in: 1...Int64.max)
        attempt = try fields.integer("attempt", in: 1...Int64.max)
        rate = try fields.share("rate")
    }

    /// Whether the rule tells the attempts at a device apart.
    var needsAttempts: Bool { rate != nil || attempt != nil }

    /// Whether a request is of the kind that the rule is for, its number left aside.
    func concerns(_ device: String, _ provider: PushProvider, _ environment: PushEnvironment, _ kind: RequestKind)
        -> Bool
    {
        self.kind == kind && (self.provider == nil || self.provider == provider)
            && (self.environment == nil || self.environment == environment)
            && (devicePrefix.isEmpty || device.lowercased().hasPrefix(devicePrefix))
    }
}
