import PealTesting
import Synchronization
import Testing

@testable import PealServer

@Suite("Probes of a store that may not respond", .timeLimit(.minutes(2)))
struct StoreProbeTests {
    /// A store that answers when the test does.
    private final class SlowStore: Sendable {
        private let answers: AsyncStream<Int>
        private let arrival: AsyncStream<Int>.Continuation
        private let reads = Atomic(0)

        var readCount: Int { reads.load(ordering: .relaxed) }

        init() { (answers, arrival) = AsyncStream.makeStream(of: Int.self) }

        func answer(_ value: Int) { arrival.yield(value) }
        func fail() { arrival.finish() }

        func read() async throws -> Int {
            reads.add(1, ordering: .relaxed)
            for await answer in answers { return answer }
            throw CancellationError()
        }
    }

    private let time = ManualTime()
    private let store = SlowStore()

    @Test("callers share one read, wait two seconds for it, and learn for how long the store has been silent")
    func late() async throws {
        let probe = StoreProbe(time: time) { [store] in try await store.read() }
        async let first = probe.answer()
        async let second = probe.answer()
        await time.sleepers(2)
        time.advance(by: .seconds(2))
        #expect(await [first, second] == [.late(.seconds(2)), .late(.seconds(2))])
        time.advance(by: .seconds(5))
        #expect(await probe.answer() == .late(.seconds(7)))
        #expect(store.readCount == 1)
        #expect(probe.last(within: .seconds(60)) == nil)

        store.answer(1)
        try await Polling.wait(for: "the answer") { probe.last(within: .seconds(60)) == 1 }
        #expect(await probe.answer() == .value(1))
        #expect(store.readCount == 1)

        time.advance(by: .seconds(1))
        async let third = probe.answer()
        await time.sleepers(1)
        time.advance(by: .seconds(2))
        #expect(await third == .late(.seconds(3)))
        #expect(probe.last(within: .seconds(4)) == 1)
        #expect(probe.last(within: .seconds(3)) == nil)
    }

    @Test("an answer in time is used for half a second")
    func inTime() async throws {
        let probe = StoreProbe(time: time) { [store] in try await store.read() }
        store.answer(1)
        store.answer(2)
        for (milliseconds, value, reads) in [(0, 1, 1), (499, 1, 1), (1, 2, 2)] {
            time.advance(by: .milliseconds(milliseconds))
            #expect(await probe.answer() == .value(value))
            #expect(store.readCount == reads)
        }
    }

    @Test("a failure is reported until a read succeeds, and keeps the last value")
    func failure() async throws {
        let isFailing = Atomic(false)
        let probe = StoreProbe(time: time) {
            if isFailing.load(ordering: .relaxed) { throw CancellationError() }
            return 1
        }
        for (isFailure, answer) in [(false, .value(1)), (true, .failed), (false, .value(1))]
            as [(Bool, StoreProbe<Int>.Answer)]
        {
            isFailing.store(isFailure, ordering: .relaxed)
            time.advance(by: .seconds(1))
            #expect(await probe.answer() == answer)
            #expect(probe.last(within: .seconds(60)) == 1)
        }
    }
}
