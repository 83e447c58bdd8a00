import PealCore
import PealDelivery
import PealStore
import PealTesting
import Testing

@Suite("Delivery during failures", .timeLimit(.minutes(10)))
struct ResilienceTests {
    @Test("a crash repeats at most the pages in flight and loses no device")
    func crash() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...20_000)
        let severed = SeveredStore(fixture.store)
        let first = fixture.service(on: severed)
        let run = Task { await first.run() }
        let id = try await fixture.accept(fixture.draft(.all), engine: first)
        try await fixture.eventually { fixture.provider.sent(id).count > 5000 }
        severed.cut()
        run.cancel()
        try await fixture.eventually { fixture.provider.pages.allSatisfy { $0.flight.answers.isComplete } }
        let second = fixture.service()
        try await fixture.running(second) {
            second.wake()
            // On a database that others may share, the leases of the first process end only by time.
            try await fixture.drive(by: .seconds(1), isWorkUnderWay: true) { try await fixture.state(id) == .sent }
            let sent = fixture.provider.sent(id)
            #expect(sent.count == 20_000)
            let repeated = fixture.provider.repeatCount(id)
            #expect(repeated <= Limits.pagesInFlightMax * Limits.pageDevicesPerSlot)
            let counts = try await fixture.counts(id)
            #expect(counts.accepted == 20_000 && counts.resent >= repeated)
        }
        fixture.time.advance(by: .seconds(60))
        await run.value
    }

    @Test("a crash of one of two processes leaves its slices to the other when their leases have ended")
    func rescue() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...3000)
        fixture.provider.hold()
        let severed = SeveredStore(fixture.store)
        let first = fixture.service(on: severed, isOnlyProcess: false)
        let run = Task { await first.run() }
        let id = try await fixture.accept(fixture.draft(.all), engine: first)
        try await fixture.eventually { fixture.provider.heldCount > 0 }
        severed.cut()
        run.cancel()
        fixture.provider.release()
        let second = fixture.service(isOnlyProcess: false)
        try await fixture.running(second) {
            try await fixture.drive(by: .seconds(1), isWorkUnderWay: true) { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).accepted == 3000)
            #expect(second.metrics.snapshot.leasesTakenBack > 0)
        }
        fixture.time.advance(by: .seconds(60))
        await run.value
    }

    @Test("a graceful stop sends nothing more and releases its leases")
    func gracefulStop() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...12_000)
        fixture.provider.hold()
        let service = fixture.service()
        let run = Task { await service.run() }
        let id = try await fixture.accept(fixture.draft(.all), engine: service)
        try await fixture.eventually { fixture.provider.heldCount >= 4 }
        run.cancel()
        try await fixture.eventually { fixture.provider.pages.allSatisfy { $0.control.isStopped } }
        fixture.provider.release()
        await run.value
        let census = try await fixture.census()
        #expect(census.slicesLeased == 0)
        #expect(census.slicesReady > 0)
        #expect(fixture.provider.sentCount(id) == 0)
        let next = fixture.service(isOnlyProcess: false)
        try await fixture.running(next) {
            next.wake()
            try await fixture.ended(id)
            #expect(fixture.provider.sentCount(id) == 12_000)
            #expect(fixture.provider.repeatCount(id) == 0)
        }
    }

    @Test("a graceful stop settles the answers to requests on the wire")
    func stopSettles() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...200)
        fixture.provider.answers { $0.key > 150 ? .silence : .accepted }
        let service = fixture.service()
        let run = Task { await service.run() }
        let id = try await fixture.accept(fixture.draft(.all), engine: service)
        try await fixture.eventually { fixture.provider.sent(id).count == 200 }
        run.cancel()
        fixture.provider.answerOpen()
        await run.value
        #expect(try await fixture.counts(id).accepted == 200)
        #expect(try await fixture.state(id) == .sent)
    }

    @Test("a stop does not wait forever: answers that have not come when it ends count as lost")
    func stopGivesUp() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...200)
        fixture.provider.answers { $0.key > 150 && $0.earlier == 0 ? .silence : .accepted }
        let service = fixture.service()
        let run = Task { await service.run() }
        let id = try await fixture.accept(fixture.draft(.all), engine: service)
        try await fixture.eventually { fixture.provider.sent(id).count == 200 }
        run.cancel()
        try await fixture.drive(isWorkUnderWay: true) { try await fixture.census().slicesLeased == 0 }
        await run.value
        #expect(try await fixture.counts(id).accepted == 150)
        let next = fixture.service()
        try await fixture.running(next) {
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).accepted == 200)
        }
    }

    @Test("a message is paused and resumed while it is sent, and each device gets it once")
    func pauseAndResume() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...9000)
        fixture.provider.hold()
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { fixture.provider.heldCount >= 2 }
            try await fixture.move(id, from: [.sending], to: .paused)
            service.interrupt(id)
            fixture.provider.release()
            try await fixture.eventually {
                let census = try await fixture.census()
                return census.slicesLeased + census.slicesReady == 0
            }
            #expect(try await fixture.state(id) == .paused)
            #expect(fixture.provider.sentCount(id) == 0)
            try await fixture.move(id, from: [.paused], to: .sending)
            service.interrupt(id)
            try await fixture.ended(id)
            #expect(fixture.provider.sentCount(id) == 9000)
            #expect(fixture.provider.repeatCount(id) == 0)
        }
    }

    /// One of several servers has sent the first page of a message to 6,000 devices, which the network holds.
    private static func whilePageIsHeld(
        _ body: (DeliveryFixture, DeliveryService, MessageID) async throws -> Void
    ) async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...6000)
        fixture.provider.hold()
        let service = fixture.service(isOnlyProcess: false, pagesInFlightMax: 1)
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { fixture.provider.heldCount == 1 }
            try await body(fixture, service, id)
        }
    }

    @Test(
        "a message that another server paused or cancelled stops although its announcement was lost",
        arguments: [Message.State.paused, .cancelled])
    func lostAnnouncement(_ state: Message.State) async throws {
        try await Self.whilePageIsHeld { fixture, _, id in
            try await fixture.move(id, from: [.sending], to: state)
            fixture.time.advance(by: .seconds(1))
            fixture.provider.release()
            try await fixture.drive {
                let census = try await fixture.census()
                return census.slicesLeased + census.slicesReady + census.slicesEnding == 0
            }
            let counts = try await fixture.counts(id)
            #expect(counts.accepted <= Limits.pageDevicesPerSlot)
            #expect(fixture.provider.sentCount(id) == counts.accepted)
            #expect(counts.suppressed == (state == .cancelled ? 6000 - counts.accepted : 0))
        }
    }

    @Test("a rate that another server set applies although its announcement was lost")
    func lostRate() async throws {
        try await Self.whilePageIsHeld { fixture, service, id in
            try await fixture.store.write(.control) { [app = fixture.app] in
                try $0.setRate(10, app: app, message: id)
            }
            fixture.time.advance(by: .seconds(1))
            fixture.provider.release()
            try await fixture.pass(seconds: 8)
            #expect(fixture.provider.sentCount(id) <= Limits.pageDevicesPerSlot + 100)
            try await fixture.store.write(.control) { [app = fixture.app] in
                try $0.setRate(nil, app: app, message: id)
            }
            service.interrupt(id)
            try await fixture.drive(by: .milliseconds(50), isWorkUnderWay: true) {
                try await fixture.state(id) == .sent
            }
            #expect(try await fixture.counts(id).accepted == 6000)
        }
    }

    @Test("a message that is cancelled while it is sent reaches no further device, and every device is counted")
    func cancel() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...9000)
        let service = fixture.service()
        try await fixture.running(service) {
            fixture.provider.hold()
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { fixture.provider.heldCount >= 2 }
            fixture.provider.release(2, andHold: true)
            try await fixture.eventually { try await fixture.counts(id).accepted > 0 }
            try await fixture.move(id, from: [.sending], to: .cancelled)
            service.interrupt(id)
            fixture.provider.release()
            try await fixture.eventually { try await fixture.counts(id).pending == 0 }
            try await fixture.eventually { try await fixture.census().slicesReady == 0 }
            let counts = try await fixture.counts(id)
            #expect(counts.accepted == fixture.provider.sent(id).count)
            #expect(counts.accepted > 0 && counts.accepted < 9000)
            #expect(counts.suppressed == 9000 - counts.accepted)
            #expect(counts.reasons == ["Cancelled": counts.suppressed])
        }
    }

    @Test("two processes on one store share the work and reach each device once")
    func twoServices() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...20_000)
        let first = fixture.service(isOnlyProcess: false)
        let second = fixture.service(isOnlyProcess: false)
        #expect(first.owner != second.owner)
        try await fixture.running(first) {
            try await fixture.running(second) {
                let id = try await fixture.accept(fixture.draft(.all))
                first.wake()
                second.wake()
                try await fixture.ended(id)
                #expect(fixture.provider.sentCount(id) == 20_000)
                #expect(fixture.provider.repeatCount(id) == 0)
            }
        }
    }

    @Test("a small message whose body came slowly is not taken from the process that accepted it")
    func slowBody() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        fixture.provider.answers { _ in .silence }
        let first = fixture.service(isOnlyProcess: false)
        let second = fixture.service(isOnlyProcess: false)
        try await fixture.running(first) {
            try await fixture.running(second) {
                try await fixture.eventually { first.isRunning && second.isRunning }
                // Both take back leases from here on, and the device is older than the request.
                try await fixture.pass(seconds: 45)
                let id = try await fixture.accept(
                    fixture.draft(.devices(1...1)), engine: first, arrival: fixture.now - .seconds(40))
                try await fixture.eventually { fixture.provider.pages.count == 1 }
                // Longer than the interval of the Rescuer, and shorter than a request may take.
                try await fixture.pass(seconds: 11)
                fixture.provider.answerOpen()
                try await fixture.drive { try await fixture.state(id) == .sent }
                #expect(fixture.provider.pages.count == 1)
                #expect([first, second].map(\.metrics.snapshot.leasesTakenBack) == [0, 0])
            }
        }
    }

    /// The clock of a server that has noticed a step of the database's clock before the others.
    private struct SteppedTime: TimeSource {
        let time: ManualTime
        var now: Timestamp { time.now + .seconds(3600) }
        var uptime: Duration { time.uptime }
        func sleep(for duration: Duration) async throws { try await time.sleep(for: duration) }
        func isSteady() async -> Bool { false }
    }

    @Test("a step of the shared clock takes no leases from a process that has not noticed it yet")
    func clockStep() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        fixture.provider.answers { _ in .silence }
        let first = fixture.service(isOnlyProcess: false)
        let second = fixture.service(isOnlyProcess: false, time: SteppedTime(time: fixture.time))
        try await fixture.running(first) {
            try await fixture.running(second) {
                try await fixture.eventually { first.isRunning && second.isRunning }
                try await fixture.pass(seconds: 15)
                // Lasts until after the step.
                let draft = fixture.draft(.devices(1...1), lifeSeconds: 24 * 3600)
                let id = try await fixture.accept(draft, engine: first)
                try await fixture.eventually { fixture.provider.pages.count == 1 }
                try await fixture.pass(seconds: 11)
                fixture.provider.answerOpen()
                try await fixture.drive { try await fixture.state(id) == .sent }
                #expect(fixture.provider.pages.count == 1)
                #expect([first, second].map(\.metrics.snapshot.leasesTakenBack) == [0, 0])
            }
        }
    }

    @Test("a small message does not wait behind bulk pages")
    func directLane() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...40_000)
        fixture.provider.hold()
        let service = fixture.service()
        let pages = Limits.pagesInFlightMax * Limits.pageDevicesPerSlot / Limits.pageDevicesMax
        try await fixture.running(service) {
            let bulk = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { fixture.provider.heldCount == pages }
            let small = try await fixture.accept(fixture.draft(.devices(5...6)), engine: service)
            try await fixture.eventually { fixture.provider.pages.contains { $0.slice.message == small } }
            #expect(try await fixture.counts(bulk).settled == 0)
            fixture.provider.release()
            try await fixture.ended(small)
            try await fixture.ended(bulk)
            #expect(fixture.provider.sent(bulk).count == 40_000)
        }
    }

    @Test("a small message that was not passed to the engine is found although workers are busy")
    func express() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...200)
        fixture.provider.hold()
        let service = fixture.service()
        try await fixture.running(service) {
            var bulk: [MessageID] = []
            for _ in 0..<40 { bulk.append(try await fixture.accept(fixture.draft(.all), engine: service)) }
            try await fixture.eventually { fixture.provider.heldCount == Limits.pagesInFlightMax }
            let small = try await fixture.accept(fixture.draft(.devices(1...2)))
            service.wake()
            try await fixture.drive(isWorkUnderWay: true) {
                fixture.provider.pages.contains { $0.slice.message == small }
            }
            fixture.provider.release()
            for id in bulk + [small] { try await fixture.ended(id) }
            #expect(bulk.allSatisfy { fixture.provider.repeatCount($0) == 0 })
        }
    }

    @Test("a message that is accepted while the process starts reaches its devices once")
    func acceptedBeforeStart() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...5)
        let service = fixture.service()
        let id = try await fixture.accept(fixture.draft(.devices(1...5)), engine: service)
        try await fixture.running(service) {
            try await fixture.ended(id)
            #expect(fixture.provider.sent(id) == [1: 1, 2: 1, 3: 1, 4: 1, 5: 1])
            #expect(service.metrics.snapshot.settlesRefused == 0)
        }
    }

    @Test("the heartbeat keeps the lease of a slow page")
    func heartbeat() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...100)
        fixture.provider.answers { _ in .silence }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.devices(1...100)), engine: service)
            try await fixture.eventually { fixture.provider.sent(id).count == 100 }
            let firstEnd = fixture.now + .seconds(Limits.leaseSeconds)
            try await fixture.pass(seconds: 16)
            try await fixture.eventually { try await fixture.leasesEnded(before: firstEnd + .seconds(1)) == 0 }
            fixture.provider.answerOpen()
            try await fixture.drive { try await fixture.state(id)?.isFinal ?? false }
            #expect(try await fixture.counts(id).accepted == 100)
            #expect(service.metrics.snapshot.settlesRefused == 0)
        }
    }
}

extension DeliveryFixture {
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
