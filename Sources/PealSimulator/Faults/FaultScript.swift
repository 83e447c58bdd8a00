import Yams

/// A list of rules, read from YAML: the first that meets a request acts.
struct FaultScript: Sendable {
    let rules: [FaultRule]
    /// The seed that the script brings along; nil for the program's.
    let seed: UInt64?

    /// No rules.
    init() {
        rules = []
        seed = nil
    }

    /// Reads `yaml`. Throws a `SimulatorError` that names the line or member at fault.
    init(yaml: String) throws {
        let document: Any?
        do {
            document = try Yams.load(yaml: yaml)
        } catch {
            throw SimulatorError("script: \(error)")
        }
        guard let document else {
            rules = []
            seed = nil
            return
        }
        guard let members = document as? [String: Any] else { throw SimulatorError("script: not an object") }
        let fields = Fields(members, path: "")
        try fields.allowOnly(["seed", "rules"])
        guard let rules = members["rules"] as? [Any] else { throw SimulatorError("rules: not a list") }
        guard rules.count <= SimulatorLimits.scriptRulesMax else {
            throw SimulatorError("rules: more than \(SimulatorLimits.scriptRulesMax)")
        }
        seed = try fields.integer("seed", in: 0...Int64.max).map(UInt64.init)
        self.rules = try rules.enumerated().map { index, rule in
            guard let members = rule as? [String: Any] else { throw SimulatorError("rules[\(index)]: not an object") }
            return try FaultRule(members, path: "rules[\(index)].")
        }
    }
}
