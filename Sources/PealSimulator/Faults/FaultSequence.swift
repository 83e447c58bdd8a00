/// What a rule, or a device's entry, does one time after the other: one fault again and again, or several in turn.
struct FaultSequence: Sendable, Equatable {
    private let faults: [Fault]
    private let isRepeated: Bool

    /// The same fault each time.
    init(_ fault: Fault) {
        faults = [fault]
        isRepeated = true
    }

    /// Members of JSON or YAML that describe one.
    static let members = Fault.members.union(["sequence", "repeat"])

    /// Reads `sequence` (with `repeat`), or else one fault. Throws a `SimulatorError` that names the member, with
    /// `path` before it.
    init(_ members: [String: Any], path: String) throws {
        let fields = Fields(members, path: path)
        guard let steps = members["sequence"] else {
            guard members["repeat"] == nil else { throw SimulatorError("\(path)repeat: only with sequence") }
            faults = [try Fault(members, path: path)]
            isRepeated = true
            return
        }
        guard let steps = steps as? [Any], (1...SimulatorLimits.sequenceStepsMax).contains(steps.count) else {
            throw SimulatorError("\(path)sequence: not a list of 1 to \(SimulatorLimits.sequenceStepsMax) faults")
        }
        if let other = Fault.members.sorted().first(where: { members[$0] != nil }) {
            throw SimulatorError("\(path)\(other): not beside sequence")
        }
        isRepeated = try fields.boolean("repeat") ?? false
        faults = try steps.enumerated().map { index, step in
            let path = "\(path)sequence[\(index)]."
            guard let members = step as? [String: Any] else {
                throw SimulatorError("\(path.dropLast()): not an object")
            }
            try Fields(members, path: path).allowOnly(Fault.members)
            return try Fault(members, path: path)
        }
    }

    /// The fault of the time numbered `time`, from 0; nil when the sequence has ended.
    func fault(_ time: Int64) -> Fault? {
        let count = Int64(faults.count)
        guard time < count || isRepeated else { return nil }
        return faults[Int(time % count)]
    }
}
