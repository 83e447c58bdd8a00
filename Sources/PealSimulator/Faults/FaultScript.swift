import Yams

/// A list of rules, read from YAML. The first rule that matches a request applies.
struct FaultScript: Sendable {
    let rules: [FaultRule]
    /// The script's own seed; nil for the program's.
    let seed: UInt64?
    /// Seconds that the simulator's clock is ahead while the script is loaded.
    let clockSkewSeconds: Int64

    /// Reads `yaml`. Throws a `SimulatorError` that names the invalid line or member.
    init(yaml: String) throws {
        let document: Any?
        do {
            document = try Yams.load(yaml: yaml)
        } catch {
            throw SimulatorError("script: \(error)")
        }
        guard let members = (document ?? [String: Any]()) as? [String: Any] else {
            throw SimulatorError("script: must be an object")
        }
        let fields = MemberReader(members, path: "")
        try fields.allowOnly(["seed", "rules", "clock_skew_seconds"])
        guard let rules = (members["rules"] ?? []) as? [Any] else { throw SimulatorError("rules: must be a list") }
        guard rules.count <= SimulatorLimits.scriptRulesMax else {
            throw SimulatorError("rules: more than \(SimulatorLimits.scriptRulesMax)")
        }
        seed = try fields.integer("seed", in: 0...Int64.max).map(UInt64.init)
        clockSkewSeconds = try fields.integer("clock_skew_seconds", in: SimulatorLimits.skewSeconds) ?? 0
        self.rules = try rules.enumerated().map { index, rule in
            guard let members = rule as? [String: Any] else {
                throw SimulatorError("rules[\(index)]: must be an object")
            }
            return try FaultRule(members, path: "rules[\(index)].")
        }
    }
}

/// One rule of a script: which requests it applies to, how often, and its faults.
struct FaultRule: Sendable {
    let match: FaultMatch
    /// How often the rule may apply; nil for no limit.
    let times: Int64?
    let faults: FaultSequence

    /// Reads a rule. Throws a `SimulatorError` that names the invalid member after `path`.
    init(_ members: [String: Any], path: String) throws {
        let fields = MemberReader(members, path: path)
        try fields.allowOnly(FaultSequence.members.union(["match", "times"]))
        match = try FaultMatch(MemberReader(try fields.object("match"), path: path + "match."))
        times = try fields.integer("times", in: 1...Int64.max)
        faults = try FaultSequence(members, path: path)
    }
}

/// The requests that a rule applies to.
struct FaultMatch: Sendable {
    /// The prefix of device names, in either case; empty for all.
    let devicePrefix: String
    let provider: PushProvider?
    let environment: PushEnvironment?
    let kind: RequestKind
    /// Only the n-th request that meets the other conditions, from 1.
    let nth: Int64?
    /// Every n-th request that meets the other conditions.
    let every: Int64?
    /// Only the n-th request to each device, from 1.
    let attempt: Int64?
    /// The share of requests, drawn from seed, device and attempt.
    let rate: Double?

    /// Reads a match. Throws a `SimulatorError` that names the invalid member.
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

    /// Whether the rule counts attempts per device.
    var needsAttempts: Bool { rate != nil || attempt != nil }

    /// Whether a request matches, apart from its number.
    func concerns(_ device: String, _ provider: PushProvider, _ environment: PushEnvironment, _ kind: RequestKind)
        -> Bool
    {
        self.kind == kind && (self.provider == nil || self.provider == provider)
            && (self.environment == nil || self.environment == environment)
            && (devicePrefix.isEmpty || device.lowercased().hasPrefix(devicePrefix))
    }
}
