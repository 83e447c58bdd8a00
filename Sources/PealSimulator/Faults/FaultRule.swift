/// One rule of a script: which requests it meets, how often, and the faults it puts there.
struct FaultRule: Sendable {
    let match: FaultMatch
    /// How often the rule may act; nil without end.
    let times: Int64?
    let faults: FaultSequence

    /// Reads a rule. Throws a `SimulatorError` that names the member at fault, with `path` before it.
    init(_ members: [String: Any], path: String) throws {
        let fields = Fields(members, path: path)
        try fields.allowOnly(FaultSequence.members.union(["match", "times"]))
        match = try FaultMatch(Fields(try fields.object("match"), path: path + "match."))
        times = try fields.integer("times", in: 1...Int64.max)
        faults = try FaultSequence(members, path: path)
    }
}
