import Synchronization

/// Decides for each accepted request whether a fault applies: first the faults of its device, then the rules of the
/// script in order. Equal seeds and requests give equal faults.
package final class FaultPlan: Sendable {
    private struct DeviceFault {
        let faults: FaultSequence
        let times: Int64?
        var acted: Int64 = 0
    }

    private struct RuleState {
        let rule: FaultRule
        var met: Int64 = 0
        var acted: Int64 = 0
    }

    private struct State {
        var devices: [String: DeviceFault] = [:]
        var rules: [RuleState] = []
        var seed: UInt64
        var attempts: [UInt64: UInt32] = [:]
        var needsAttempts = false

        var isEmpty: Bool { devices.isEmpty && rules.isEmpty }
    }

    /// The effects of faults on the clock and on tokens.
    package let skew = ClockSkew()
    package let expired = ExpiredCredentials()

    private let state: Mutex<State>
    private let seed: UInt64
    private let active = Atomic<Bool>(false)

    /// A plan without faults. `seed` decides the draws of rules with a rate.
    package init(seed: UInt64) {
        self.seed = seed
        state = Mutex(State(seed: seed))
    }

    /// Whether there is any fault. A fast path for `decide`.
    var isActive: Bool { active.load(ordering: .relaxed) }

    /// Sets the faults of `device` (a `DeviceName.key`), which replace earlier ones. They apply `times` times.
    func set(_ faults: FaultSequence, device: String, times: Int64?) throws {
        try change { state in
            guard state.devices[device] != nil || state.devices.count < SimulatorLimits.devicesMarkedMax else {
                throw SimulatorError("faults: at most \(SimulatorLimits.devicesMarkedMax) devices")
            }
            state.devices[device] = DeviceFault(faults: faults, times: times)
        }
    }

    /// Removes the faults of `device`. Returns whether there were any.
    func remove(device: String) -> Bool {
        change { $0.devices.removeValue(forKey: device) != nil }
    }

    /// Replaces the rules with those of `script` and resets all counters.
    func load(_ script: FaultScript) {
        skew.set(seconds: script.clockSkewSeconds)
        change { state in
            state.rules = script.rules.map { RuleState(rule: $0) }
            state.seed = script.seed ?? seed
            state.attempts = [:]
            state.needsAttempts = script.rules.contains { $0.match.needsAttempts }
        }
    }

    /// Removes every fault of devices and of the script, and their effects on the clock and on tokens.
    package func clear() {
        skew.set(seconds: 0)
        expired.removeAll()
        change { $0 = State(seed: seed) }
    }

    /// The fault for a request to `device`; nil for none.
    func decide(
        device: String, provider: PushProvider, environment: PushEnvironment, kind: RequestKind = .send
    ) -> Fault? {
        guard isActive else { return nil }
        let key = DeviceName.key(device)
        return state.withLock { state in
            if kind == .send, let fault = Self.deviceFault(key, &state) { return fault }
            let (count, mark) = state.needsAttempts ? Self.attempt(Fingerprint.of(key), &state) : (0, 0)
            for index in state.rules.indices {
                let rule = state.rules[index].rule
                guard rule.match.concerns(key, provider, environment, kind),
                    Self.meets(index, count, mark, &state), let fault = rule.faults.fault(state.rules[index].acted)
                else { continue }
                state.rules[index].acted += 1
                return fault
            }
            return nil
        }
    }

    private func change<R>(_ body: (inout State) throws -> R) rethrows -> R {
        try state.withLock { state in
            defer { active.store(!state.isEmpty, ordering: .relaxed) }
            return try body(&state)
        }
    }

    private static func deviceFault(_ device: String, _ state: inout State) -> Fault? {
        guard let entry = state.devices[device] else { return nil }
        let acted = entry.acted + 1
        let isSpent = acted == entry.times || entry.faults.fault(acted) == nil
        if isSpent {
            state.devices[device] = nil
        } else {
            state.devices[device]?.acted = acted
        }
        return entry.faults.fault(entry.acted)
    }

    /// The number of requests to the device, and a pseudo-random value that does not depend on the order of devices.
    private static func attempt(_ device: UInt64, _ state: inout State) -> (Int64, UInt64) {
        if state.attempts.count >= SimulatorLimits.attemptsRememberedMax { state.attempts = [:] }
        state.attempts[device, default: 0] &+= 1
        let count = state.attempts[device] ?? 0
        return (Int64(count), Fingerprint.fold(device, UInt64(count)))
    }

    /// Counts a request that matches a rule. Returns whether the rule applies to this one.
    private static func meets(_ index: Int, _ attempt: Int64, _ mark: UInt64, _ state: inout State) -> Bool {
        let match = state.rules[index].rule.match
        state.rules[index].met += 1
        let met = state.rules[index].met
        if let nth = match.nth, met != nth { return false }
        if let every = match.every, !met.isMultiple(of: every) { return false }
        if let number = match.attempt, attempt != number { return false }
        if let rate = match.rate {
            let draw = SeededRandom.mix(mark ^ SeededRandom.mix(state.seed &+ UInt64(index)))
            guard Double(draw >> 11) / Double(1 << 53) < rate else { return false }
        }
        if let times = state.rules[index].rule.times, state.rules[index].acted >= times { return false }
        return true
    }
}

/// Fingerprints of the provider tokens and access tokens that faults have expired early.
package final class ExpiredCredentials: Sendable {
    private let fingerprints = Mutex<Set<UInt64>>([])

    /// No credentials.
    package init() {}

    func insert(_ fingerprint: UInt64) {
        fingerprints.withLock { known in
            if known.count >= SimulatorLimits.expiredCredentialsMax { known.removeAll() }
            known.insert(fingerprint)
        }
    }

    func contains(_ fingerprint: UInt64) -> Bool {
        fingerprints.withLock { $0.contains(fingerprint) }
    }

    func removeAll() {
        fingerprints.withLock { $0.removeAll() }
    }
}
