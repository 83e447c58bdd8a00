/// One rule of a script: which requests it meets, how often, and the fault it puts there.
struct FaultRule: Sendable {
    /// Device tokens that begin so (lower case); empty for all.
    let devicePrefix: String
    let environment: PushEnvironment?
    /// Only the n-th request that meets the other conditions, counted from 1.
    let nth: Int64?
    /// Each n-th request that meets the other conditions.
    let every: Int64?
    /// The share of requests, drawn by device and attempt from the seed.
    let rate: Double?
    /// How often the rule may act; nil without end.
    let times: Int64?
    let fault: Fault

    /// Reads a rule. Throws a `SimulatorError` that names the member at fault, with `path` before it.
    init(_ members: [String: Any], path: String) throws {
        let fields = Fields(members, path: path)
        try fields.allowOnly([
            "match", "times", "action", "status", "reason", "timestamp", "delay_ms", "code", "streams", "processed",
        ])
        let match = Fields(try fields.object("match"), path: path + "match.")
        try match.allowOnly(["device_prefix", "environment", "nth", "every", "rate"])
        devicePrefix = try match.text("device_prefix")?.lowercased() ?? ""
        environment = try match.text("environment").map { name in
            guard let environment = PushEnvironment(rawValue: name) else {
                throw SimulatorError("\(path)match.environment: not 'production' or 'sandbox'")
            }
            return environment
        }
        nth = try match.integer("nth", in: 1...Int64.max)
        every = try match.integer("every", in: 1...Int64.max)
        rate = try match.share("rate")
        times = try fields.integer("times", in: 1...Int64.max)
        fault = try Fault(members, path: path)
    }
}
