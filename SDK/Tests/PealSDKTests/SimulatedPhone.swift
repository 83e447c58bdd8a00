import Foundation
import PealMoments
import PealWire

@testable import PealDevice
@testable import PealSDK

/// A value behind a lock.
final class Locked<Value>: @unchecked Sendable {
    // Sendable because the value is only touched under the lock.
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func with<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try lock.withLock { try body(&value) }
    }

    var now: Value { with { $0 } }
}

/// A seeded sequence (SplitMix64), so that every failure can be repeated.
struct Dice: Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ count: Int) -> Int { Int(next() % UInt64(max(count, 1))) }
    mutating func happens(_ chance: Double) -> Bool { Double(next() >> 11) / 9_007_199_254_740_992 < chance }
}

struct MovedClock: PhoneClock {
    struct Time {
        var wall: Int64
        var uptime: Int64
    }

    let time: Locked<Time>

    init(wall: Int64 = 1_769_310_000_000, uptime: Int64 = 5_000_000) {
        time = Locked(Time(wall: wall, uptime: uptime))
    }

    var wall: Int64 { time.now.wall }
    var uptime: Int64 { time.now.uptime }

    func advance(_ milliseconds: Int64) {
        time.with {
            $0.wall += milliseconds
            $0.uptime += milliseconds
        }
    }

    func setWall(_ wall: Int64) { time.with { $0.wall = wall } }
}

/// The end of a process.
struct Died: Error {}

/// A process of the phone. Once it has died, nothing that it does has an effect.
final class Process: @unchecked Sendable {
    // Sendable because the flag is only touched under its lock.
    private let flag = Locked(false)
    var isDead: Bool { flag.now }
    func die() { flag.with { $0 = true } }
}

/// Shared state in memory, as one process sees it. `mayDie` is asked before and after every change.
struct MemoryState<Value: Sendable>: SharedState {
    let box: Locked<Value>
    var process = Process()
    var mayDie: @Sendable () -> Bool = { false }

    init(_ value: Value) { box = Locked(value) }

    init(_ box: Locked<Value>, process: Process, mayDie: @escaping @Sendable () -> Bool) {
        (self.box, self.process, self.mayDie) = (box, process, mayDie)
    }

    func read() throws -> Value {
        guard !process.isDead else { throw Died() }
        return box.now
    }

    func update<Result>(_ change: (inout Value) throws -> Result) throws -> Result {
        if process.isDead || mayDie() {
            process.die()
            throw Died()
        }
        let result = try box.with { value in
            var copy = value
            let result = try change(&copy)
            value = copy
            return result
        }
        if mayDie() {
            process.die()
            throw Died()
        }
        return result
    }
}

/// A notification centre that remembers what the person saw.
final class SimulatedPresenter: NotificationPresenter, @unchecked Sendable {
    // Sendable because all state is behind the lock.
    struct State {
        var displayed: [String: LocalNotification] = [:]
        /// What made a sound, by id.
        var alerts: [String: Int] = [:]
        /// What appeared without a sound.
        var silent: [String: Int] = [:]
        var categories: [NotificationCategory] = []
        var permission = NotificationPermission(allowsAlerts: true)
        var failures = 0
        /// Whether it takes no file for an image.
        var refusesImages = false
    }

    struct Refused: Error {}

    let state = Locked(State())
    /// What the answer about the permission waits for.
    let delay = Locked<@Sendable () async -> Void>({})

    func add(_ notification: LocalNotification) async throws {
        let isRefused = state.with { state in
            state.failures -= 1
            return state.failures >= 0 || state.refusesImages && notification.image != nil
        }
        if isRefused { throw Refused() }
        present(notification)
    }

    func present(_ notification: LocalNotification) {
        state.with {
            $0.displayed[notification.id] = notification
            if notification.isSilent {
                $0.silent[notification.id, default: 0] += 1
            } else {
                $0.alerts[notification.id, default: 0] += 1
            }
        }
    }

    func contains(_ id: String) async -> Bool { state.now.displayed[id] != nil }
    func remove(_ ids: [String]) async { state.with { state in ids.forEach { state.displayed[$0] = nil } } }
    func permission() async -> NotificationPermission {
        await delay.now()
        return state.now.permission
    }
    func register(_ categories: [NotificationCategory]) async { state.with { $0.categories = categories } }
}

struct SimulatedSensors: Sensors {
    var signals = Signals()
    var delay: @Sendable () async -> Void = {}

    func read() async -> Signals {
        await delay()
        return signals
    }
}

struct NoImages: ImageStore {
    func fetch(_ url: String, for message: String) async {}
    func file(for message: String) -> URL? { nil }
    func remove(_ message: String) {}
    func keep(only messages: Set<String>) {}
    func removeAll() {}
}

/// Shows the first message it is asked about, or none.
struct FixedPolicy: MomentPolicy {
    var isGood = true

    func choose(_ wake: MomentWake) -> MomentChoice {
        MomentChoice(show: isGood ? wake.held.first?.id : nil, score: 0.25, snapshot: [1, 2, 3], traces: [:])
    }
}

/// A UUID of a number.
func uuid(_ number: Int) -> String {
    let hex = String(number, radix: 16)
    return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - hex.count) + hex
}
