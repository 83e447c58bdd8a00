import PealCore
import PealDelivery
import PealStore
import PealTesting
import Testing

@Suite("Delivery under trouble", .timeLimit(.minutes(10)))
struct ResilienceTests {
    @Test("a crash repeats at most the pages in flight and loses nobody")
    func crash() async throws {
        let bench = try await Bench()
        try await bench.register(1...20_000)
        let severed = SeveredStore(bench.store)
        let first = bench.service(on: severed)
        let run = Task { await first.run() }
        let id = try await bench.accept(bench.draft(.all), engine: first)
        try await bench.eventually { bench.provider.sent(id).count > 5000 }
        severed.cut()
        run.cancel()
        try await bench.eventually { bench.provider.pages.allSatisfy { $0.flight.snapshot.isComplete } }
        let second = bench.service()
        try await bench.running(second) {
            second.wake()
            try await bench.ended(id)
            let sent = bench.provider.sent(id)
            #expect(sent.count == 20_000)
            let repeated = bench.provider.repeatCount(id)
            #expect(repeated <= Limits.pagesInFlightMax * Limits.pageDevicesMax)
            #expect(try await bench.counts(id).accepted == 20_000)
        }
        bench.time.advance(by: .seconds(60))
        await run.value
    }

    @Test("a crash of one of two processes leaves its slices to the other when their leases have ended")
    func rescue() async throws {
        let bench = try await Bench()
        try await bench.register(1...3000)
        bench.provider.hold()
        let severed = SeveredStore(bench.store)
        let first = bench.service(on: severed, isOnlyProcess: false)
        let run = Task { await first.run() }
        let id = try await bench.accept(bench.draft(.all), engine: first)
        try await bench.eventually { bench.provider.heldCount > 0 }
        severed.cut()
        run.cancel()
        bench.provider.letGo()
        let second = bench.service(isOnlyProcess: false)
        try await bench.running(second) {
            try await bench.drive(by: .seconds(1), isWorkUnderWay: true) { try await bench.state(id) == .sent }
            #expect(try await bench.counts(id).accepted == 3000)
            #expect(second.metrics.snapshot.leasesTakenBack > 0)
        }
        bench.time.advance(by: .seconds(60))
        await run.value
    }

    @Test("a graceful stop sends nothing more and gives its leases back")
    func gracefulStop() async throws {
        let bench = try await Bench()
        try await bench.register(1...12_000)
        bench.provider.hold()
        let service = bench.service()
        let run = Task { await service.run() }
        let id = try await bench.accept(bench.draft(.all), engine: service)
        try await bench.eventually { bench.provider.heldCount >= 4 }
        run.cancel()
        try await bench.eventually { bench.provider.pages.allSatisfy { $0.control.isStopped } }
        bench.provider.letGo()
        await run.value
        let census = try await bench.census()
        #expect(census.slicesLeased == 0)
        #expect(census.slicesReady > 0)
        #expect(bench.provider.sentCount(id) == 0)
        let next = bench.service(isOnlyProcess: false)
        try await bench.running(next) {
            next.wake()
            try await bench.ended(id)
            #expect(bench.provider.sentCount(id) == 12_000)
            #expect(bench.provider.repeatCount(id) == 0)
        }
    }

    @Test("a graceful stop settles the answers of what was begun")
    func stopSettles() async throws {
        let bench = try await Bench()
        try await bench.register(1...200)
        bench.provider.answers { $0.key > 150 ? .silence : .accepted }
        let service = bench.service()
        let run = Task { await service.run() }
        let id = try await bench.accept(bench.draft(.all), engine: service)
        try await bench.eventually { bench.provider.sent(id).count == 200 }
        run.cancel()
        bench.provider.answerOpen()
        await run.value
        #expect(try await bench.counts(id).accepted == 200)
        #expect(try await bench.state(id) == .sent)
    }

    @Test("a stop does not wait for ever: who has no answer when it is over counts as lost")
    func stopGivesUp() async throws {
        let bench = try await Bench()
        try await bench.register(1...200)
        bench.provider.answers { $0.key > 150 && $0.earlier == 0 ? .silence : .accepted }
        let service = bench.service()
        let run = Task { await service.run() }
        let id = try await bench.accept(bench.draft(.all), engine: service)
        try await bench.eventually { bench.provider.sent(id).count == 200 }
        run.cancel()
        try await bench.drive(isWorkUnderWay: true) { try await bench.census().slicesLeased == 0 }
        await run.value
        #expect(try await bench.counts(id).accepted == 150)
        let next = bench.service()
        try await bench.running(next) {
            try await bench.drive(by: .seconds(1)) { try await bench.state(id) == .sent }
            #expect(try await bench.counts(id).accepted == 200)
        }
    }

    @Test("a message is paused and resumed under way, and each device gets it once")
    func pauseAndResume() async throws {
        let bench = try await Bench()
        try await bench.register(1...9000)
        bench.provider.hold()
        let service = bench.service()
        try await bench.running(service) {
            let id = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.eventually { bench.provider.heldCount >= 2 }
            try await bench.move(id, from: [.sending], to: .paused)
            service.interrupt(id)
            bench.provider.letGo()
            try await bench.eventually {
                let census = try await bench.census()
                return census.slicesLeased + census.slicesReady == 0
            }
            #expect(try await bench.state(id) == .paused)
            #expect(bench.provider.sentCount(id) == 0)
            try await bench.move(id, from: [.paused], to: .sending)
            service.interrupt(id)
            try await bench.ended(id)
            #expect(bench.provider.sentCount(id) == 9000)
            #expect(bench.provider.repeatCount(id) == 0)
        }
    }

    @Test("a message that is cancelled under way reaches nobody more, and every device is counted")
    func cancel() async throws {
        let bench = try await Bench()
        try await bench.register(1...9000)
        let service = bench.service()
        try await bench.running(service) {
            bench.provider.hold()
            let id = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.eventually { bench.provider.heldCount >= 2 }
            bench.provider.letGo(andHold: true)
            try await bench.eventually { try await bench.counts(id).accepted > 0 }
            try await bench.move(id, from: [.sending], to: .cancelled)
            service.interrupt(id)
            bench.provider.letGo()
            try await bench.eventually { try await bench.counts(id).pending == 0 }
            try await bench.eventually { try await bench.census().slicesReady == 0 }
            let counts = try await bench.counts(id)
            #expect(counts.accepted == bench.provider.sent(id).count)
            #expect(counts.accepted > 0 && counts.accepted < 9000)
            #expect(counts.suppressed == 9000 - counts.accepted)
            #expect(counts.reasons == ["Cancelled": counts.suppressed])
        }
    }

    @Test("two processes on one store share the work and reach each device once")
    func twoServices() async throws {
        let bench = try await Bench()
        try await bench.register(1...20_000)
        let first = bench.service(isOnlyProcess: false)
        let second = bench.service(isOnlyProcess: false)
        #expect(first.owner != second.owner)
        try await bench.running(first) {
            try await bench.running(second) {
                let id = try await bench.accept(bench.draft(.all))
                first.wake()
                second.wake()
                try await bench.ended(id)
                #expect(bench.provider.sentCount(id) == 20_000)
                #expect(bench.provider.repeatCount(id) == 0)
            }
        }
    }

    @Test("a small message does not wait behind bulk pages")
    func directLane() async throws {
        let bench = try await Bench()
        try await bench.register(1...40_000)
        bench.provider.hold()
        let service = bench.service()
        try await bench.running(service) {
            let bulk = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.eventually { bench.provider.heldCount == Limits.pagesInFlightMax }
            let small = try await bench.accept(bench.draft(.devices(5...6)), engine: service)
            try await bench.eventually { bench.provider.pages.contains { $0.slice.message == small } }
            #expect(try await bench.counts(bulk).settled == 0)
            bench.provider.letGo()
            try await bench.ended(small)
            try await bench.ended(bulk)
            #expect(bench.provider.sent(bulk).count == 40_000)
        }
    }

    @Test("a small message that nobody handed over is found beside busy workers")
    func express() async throws {
        let bench = try await Bench()
        try await bench.register(1...200)
        bench.provider.hold()
        let service = bench.service()
        try await bench.running(service) {
            var bulk: [MessageID] = []
            for _ in 0..<40 { bulk.append(try await bench.accept(bench.draft(.all), engine: service)) }
            try await bench.eventually { bench.provider.heldCount == Limits.pagesInFlightMax }
            let small = try await bench.accept(bench.draft(.devices(1...2)))
            service.wake()
            try await bench.drive(isWorkUnderWay: true) {
                bench.provider.pages.contains { $0.slice.message == small }
            }
            bench.provider.letGo()
            for id in bulk + [small] { try await bench.ended(id) }
            #expect(bulk.allSatisfy { bench.provider.repeatCount($0) == 0 })
        }
    }

    @Test("a message that is accepted while the process starts reaches its devices once")
    func acceptedBeforeStart() async throws {
        let bench = try await Bench()
        try await bench.register(1...5)
        let service = bench.service()
        let id = try await bench.accept(bench.draft(.devices(1...5)), engine: service)
        try await bench.running(service) {
            try await bench.ended(id)
            #expect(bench.provider.sent(id) == [1: 1, 2: 1, 3: 1, 4: 1, 5: 1])
            #expect(service.metrics.snapshot.settlesRefused == 0)
        }
    }

    @Test("the heartbeat keeps the lease of a slow page")
    func heartbeat() async throws {
        let bench = try await Bench()
        try await bench.register(1...100)
        bench.provider.answers { _ in .silence }
        let service = bench.service()
        try await bench.running(service) {
            let id = try await bench.accept(bench.draft(.devices(1...100)), engine: service)
            try await bench.eventually { bench.provider.sent(id).count == 100 }
            let firstEnd = bench.now + .seconds(Limits.leaseSeconds)
            for _ in 0..<16 {
                bench.time.advance(by: .seconds(1))
                try await Task.sleep(for: .milliseconds(5))
            }
            try await bench.eventually { try await bench.leasesEnded(before: firstEnd + .seconds(1)) == 0 }
            bench.provider.answerOpen()
            try await bench.drive { try await bench.state(id)?.isFinal ?? false }
            #expect(try await bench.counts(id).accepted == 100)
            #expect(service.metrics.snapshot.settlesRefused == 0)
        }
    }
}

extension Bench {
    private struct Undone: Error {
        let count: Int
    }

    /// How many leases would be taken back at `instant`. Nothing is changed.
    func leasesEnded(before instant: Timestamp) async throws -> Int {
        do {
            return try await store.write(.control) { writer in
                throw Undone(count: try writer.takeBackLeases(endedBefore: instant))
            }
        } catch let undone as Undone {
            return undone.count
        }
    }

    func move(_ id: MessageID, from: Set<Message.State>, to state: Message.State) async throws {
        let before = try await store.write(.control) { [app, now] in
            try $0.moveMessage(app: app, id: id, from: from, to: state, now: now)
        }
        #expect(before != nil)
    }
}
