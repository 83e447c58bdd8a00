/// What all listeners of one simulator share.
struct SimulatorParts: Sendable {
    let inbox: Inbox
    let keys = KeyRing()
    let marks = DeviceMarks()
    let faults: FaultPlan
    private let options: SimulatorOptions

    /// Fresh parts; throws when the script is wrong.
    init(_ options: SimulatorOptions) throws {
        self.options = options
        inbox = Inbox(mode: options.mode)
        faults = FaultPlan(seed: options.seed)
        if let yaml = options.scriptYAML { faults.load(try FaultScript(yaml: yaml)) }
    }

    /// The desk of the listener of `environment`.
    func desk(_ environment: PushEnvironment) -> APNsDesk {
        APNsDesk(
            environment: environment, keys: keys, marks: marks, inbox: inbox, faults: faults, clock: options.clock,
            seed: SeededRandom.mix(options.seed &+ (environment == .sandbox ? 1 : 0)))
    }
}
