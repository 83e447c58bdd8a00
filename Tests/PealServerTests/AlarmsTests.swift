@testable import PealServer
import PealTesting
import Testing

@Suite("Alarms", .timeLimit(.minutes(2)))
struct AlarmsTests {
    /// Its thread ends with the process.
    private static let shared = Alarms()
    private var alarms: Alarms { Self.shared }

    @Test("no sleeper wakes before its time, and all of them wake")
    func many() async throws {
        let clock = ContinuousClock()
        let early = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<2000 {
                group.addTask {
                    let duration = Duration.milliseconds(number * 7919 % 100)
                    let due = clock.now + duration
                    try await alarms.sleep(for: duration)
                    return clock.now < due
                }
            }
            return try await group.reduce(0) { $1 ? $0 + 1 : $0 }
        }
        #expect(early == 0)
    }

    @Test("a short sleep does not wait for a long one, which ends when it is cancelled")
    func shortBesideLong() async throws {
        let long = Task { try await alarms.sleep(for: .seconds(3600)) }
        // Sooner and later than the long sleep begins.
        for _ in 0..<5 { try await alarms.sleep(for: .milliseconds(5)) }
        long.cancel()
        await #expect(throws: CancellationError.self) { try await long.value }
    }

    @Test("a cancelled task does not sleep")
    func cancelledBefore() async throws {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await alarms.sleep(for: .seconds(3600))
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("a sleep of no time or less ends at once", arguments: [Duration.zero, .seconds(-5)])
    func nothing(_ duration: Duration) async throws {
        try await alarms.sleep(for: duration)
    }

    @Test("alarms of cancelled tasks do not accumulate")
    func forgotten() async throws {
        let alarms = Alarms()
        let tasks = (0..<1000).map { _ in Task { try await alarms.sleep(for: .seconds(3600)) } }
        try await Polling.wait(for: "all sleeps") { alarms.count == 1000 }
        for task in tasks {
            task.cancel()
            _ = await task.result
        }
        try await alarms.sleep(for: .milliseconds(1))
        #expect(alarms.count < 100)
    }
}
