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
        let fields = Fields(members, path: "")
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
