import Synchronization

/// Decides for each request that passed the checks whether a fault meets it: first the faults of its device, then the
/// rules of the script in their order. Equal seeds and equal requests give equal faults.
package final class FaultPlan: Sendable {
    private struct DeviceFault {
        var fault: Fault
        var timesLeft: Int64?
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
        var hasRates = false

        var isEmpty: Bool { devices.isEmpty && rules.isEmpty }
    }

    private let state: Mutex<State>
    private let seed: UInt64
    private let active = Atomic<Bool>(false)

    /// A plan without faults; `seed` draws for the rules with a rate.
    package init(seed: UInt64) {
        self.seed = seed
        state = Mutex(State(seed: seed))
    }

    /// Whether there is any fault: without one, nobody needs to ask.
    var isActive: Bool { active.load(ordering: .relaxed) }

    /// Puts a fault on `device` (lower case), in the place of an earlier one.
    func set(_ fault: Fault, device: String, times: Int64?) throws {
        try change { state in
            guard state.devices[device] != nil || state.devices.count < SimulatorLimits.devicesMarkedMax else {
                throw SimulatorError("faults: no more than \(SimulatorLimits.devicesMarkedMax) devices")
            }
            state.devices[device] = DeviceFault(fault: fault, timesLeft: times)
        }
    }

    /// Takes the fault of `device` away. Says whether there was one.
    func remove(device: String) -> Bool {
        change { $0.devices.removeValue(forKey: device) != nil }
    }

    /// Replaces the rules by those of `script`, all counters at zero.
    func load(_ script: FaultScript) {
        change { state in
            state.rules = script.rules.map { RuleState(rule: $0) }
            state.seed = script.seed ?? seed
            state.attempts = [:]
            state.hasRates = script.rules.contains { $0.rate != nil }
        }
    }

    /// Takes away every fault, of devices and of the script.
    package func clear() {
        change { $0 = State(seed: seed) }
    }

    /// The fault that meets a request to `device` (lower case); nil for none.
    func decide(device: String, environment: PushEnvironment) -> Fault? {
        guard isActive else { return nil }
        return state.withLock { state in
            if let fault = Self.deviceFault(device, &state) { return fault }
            let attempt = state.hasRates ? Self.attempt(Fingerprint.of(device), &state) : 0
            for index in state.rules.indices where Self.meets(index, device, environment, attempt, &state) {
                return state.rules[index].rule.fault
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
        if let left = entry.timesLeft {
            if left <= 1 {
                state.devices[device] = nil
            } else {
                state.devices[device]?.timesLeft = left - 1
            }
        }
        return entry.fault
    }

    /// How many requests the device has had; the order in which devices come does not matter for the draw.
    private static func attempt(_ device: UInt64, _ state: inout State) -> UInt64 {
        if state.attempts.count >= SimulatorLimits.attemptsRememberedMax { state.attempts = [:] }
        state.attempts[device, default: 0] &+= 1
        return Fingerprint.fold(device, UInt64(state.attempts[device] ?? 0))
    }

    private static func meets(
        _ index: Int, _ device: String, _ environment: PushEnvironment, _ attempt: UInt64, _ state: inout State
    ) -> Bool {
        let rule = state.rules[index].rule
        guard rule.environment == nil || rule.environment == environment, device.hasPrefix(rule.devicePrefix) else {
            return false
        }
        state.rules[index].met += 1
        let met = state.rules[index].met
        if let nth = rule.nth, met != nth { return false }
        if let every = rule.every, !met.isMultiple(of: every) { return false }
        if let rate = rule.rate {
            let draw = SeededRandom.mix(attempt ^ SeededRandom.mix(state.seed &+ UInt64(index)))
            guard Double(draw >> 11) / Double(1 << 53) < rate else { return false }
        }
        if let times = rule.times, state.rules[index].acted >= times { return false }
        state.rules[index].acted += 1
        return true
    }
}
