import Foundation
import PealMoments
import PealWire
import Testing

@testable import PealDevice
@testable import PealSDK

/// Random lives of messages on two phones of one person: lost, repeated and reordered calls and pushes, processes that
/// end at any step, clocks that jump, cancellations and replacements. Whatever happens, no message alerts twice, no
/// cancelled message appears, and none stays without an attempt.
@Suite("A message's life") struct LifecycleTests {
    static let lifecycles = ProcessInfo.processInfo.environment["PEAL_LIFECYCLES"].flatMap { Int($0) } ?? 100_000
    static let messagesPerWorld = 4

    @Test("ends with one alert at most, none after a cancellation, and an attempt", .timeLimit(.minutes(10)))
    func lifecycles() async throws {
        let worlds = (Self.lifecycles + Self.messagesPerWorld - 1) / Self.messagesPerWorld
        let lanes = 4
        let total = try await withThrowingTaskGroup(of: Tally.self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    var tally = Tally()
                    for seed in stride(from: lane, to: worlds, by: lanes) {
                        tally.add(try await World(seed: UInt64(seed), messages: Self.messagesPerWorld).live())
                    }
                    return tally
                }
            }
            return try await group.reduce(into: Tally()) { $0.add($1) }
        }
        print("lifecycles: \(total)")
        #expect(total.messages >= Self.lifecycles)
        #expect(total.doubleAlerts == [])
        #expect(total.shownAfterCancel == [])
        #expect(total.unattempted == [])
        #expect(total.wrongRevision == [])
        // The test must reach what it is about.
        #expect(total.local > total.messages / 10 && total.byServer > total.messages / 10)
        #expect(total.cancelled > total.messages / 50 && total.deaths > total.messages / 10)
        #expect(total.silent < total.messages / 8)
    }
}

/// What became of the messages of a world. The lists name seeds.
struct Tally: Sendable {
    var messages = 0
    var local = 0
    var byServer = 0
    var cancelled = 0
    var deaths = 0
    var lostCalls = 0
    var silent = 0
    var doubleAlerts: [UInt64] = []
    var shownAfterCancel: [UInt64] = []
    var unattempted: [UInt64] = []
    var wrongRevision: [UInt64] = []

    mutating func add(_ other: Self) {
        messages += other.messages
        local += other.local
        byServer += other.byServer
        cancelled += other.cancelled
        deaths += other.deaths
        lostCalls += other.lostCalls
        silent += other.silent
        doubleAlerts += other.doubleAlerts
        shownAfterCancel += other.shownAfterCancel
        unattempted += other.unattempted
        wrongRevision += other.wrongRevision
    }
}

/// Chooses at random.
private struct DicePolicy: MomentPolicy {
    let dice: Locked<Dice>

    func choose(_ wake: MomentWake) -> MomentChoice {
        let index = dice.with { $0.below(wake.held.count * 2 + 1) }
        return MomentChoice(show: wake.held.indices.contains(index) ? wake.held[index].id : nil)
    }
}

/// One person with two phones, one server and a bad network.
final class World: @unchecked Sendable {
    // Sendable because one task drives it; what it shares is behind locks.
    private let seed: UInt64
    private let dice: Locked<Dice>
    private let server: ModelServer
    private var phones: [Phone] = []
    private var ids: [String] = []
    private var cancelled: Set<String> = []
    private var tally = Tally()
    /// Chances of trouble; 0 while the world heals.
    private let trouble = Locked(1.0)
    private let counter = Locked(0)
    private var lostCalls = Locked(0)

    init(seed: UInt64, messages: Int) {
        self.seed = seed
        dice = Locked(Dice(state: seed &* 0x2545_F491_4F6C_DD1D &+ 99))
        server = ModelServer(now: 1_769_310_000_000)
        for number in 0..<2 { phones.append(Phone(number, world: self)) }
        for number in 0..<messages {
            let id = uuid(number + 1)
            ids.append(id)
            let start = server.content.now.now
            let window = Int64(dice.with { $0.below(10) } + 1) * 1_200_000
            server.content.with { $0.rows[id] = ModelServer.Row(start: start, fallbackAt: start + window) }
        }
    }

    func live() async throws -> Tally {
        for phone in phones { await phone.start() }
        let steps = 20 + dice.with { $0.below(30) }
        for _ in 0..<steps { await step() }
        await heal()
        judge()
        return tally
    }

    private func roll(_ count: Int) -> Int { dice.with { $0.below(count) } }
    fileprivate func happens(_ chance: Double) -> Bool {
        let scale = trouble.now
        return dice.with { $0.happens(chance * scale) }
    }
    fileprivate func newID() -> String {
        uuid(
            counter.with {
                $0 += 1; return $0
            } + 1000)
    }

    private func step() async {
        let phone = phones[roll(2)]
        switch roll(12) {
        case 0, 1, 2: advance(Int64(roll(40 * 60)) * 1000)
        case 3, 4, 5: await phone.wake(wakePush())
        case 6: await phone.wake(nil)
        case 7: await phone.receiveAlert()
        case 8: await phone.personActs(roll(3), ids[roll(ids.count)])
        case 9:
            let id = ids[roll(ids.count)]
            if happens(0.5) {
                if server.cancel(id) { cancelled.insert(id) }
            } else {
                server.supersede(id)
            }
        case 10: await phone.restart()
        default: phone.clock.setWall(server.content.now.now + Int64(roll(172_800) - 86_400) * 1000)
        }
        server.tick()
        distribute()
    }

    private func advance(_ milliseconds: Int64) {
        server.content.with { $0.now += milliseconds }
        for phone in phones { phone.clock.advance(milliseconds) }
    }

    private func wakePush() -> WakePush {
        let content = server.content.now
        let open = content.rows.filter { $0.value.state == .open }.sorted { $0.key < $1.key }
        return WakePush(
            sequence: counter.with {
                $0 += 1; return $0
            }, asksForSync: happens(0.3),
            messages: open.map {
                WakePush.Entry(
                    id: $0.key, rev: $0.value.rev, campaign: "",
                    fallbackAt: WireTime(milliseconds: $0.value.fallbackAt))
            })
    }

    /// Hands alerts to the phones. The provider may deliver one twice, and late.
    private func distribute() {
        let alerts = server.content.with { content in
            defer { content.alerts = [] }
            return content.alerts
        }
        for alert in alerts {
            guard let phone = phones.first(where: { $0.id == alert.device }) else { continue }
            phone.pushes.append(alert.message)
            if phone.hasLedger, happens(0.1) { phone.pushes.append(alert.message) }
            server.accepted(alert.message)
        }
    }

    private func heal() async {
        trouble.with { $0 = 0 }
        for _ in 0..<4 {
            advance(3_600_000)
            server.tick()
            distribute()
            for phone in phones {
                while !phone.pushes.isEmpty { await phone.receiveAlert() }
                await phone.wake(wakePush())
            }
        }
    }

    private func judge() {
        let content = server.content.now
        tally.deaths = phones.reduce(0) { $0 + $1.deaths }
        tally.lostCalls = lostCalls.now
        for id in ids {
            tally.messages += 1
            let alerts = phones.reduce(0) { $0 + ($1.presenter.state.now.alerts[id] ?? 0) }
            let silent = phones.reduce(0) { $0 + ($1.presenter.state.now.silent[id] ?? 0) }
            tally.silent += silent > 0 ? 1 : 0
            if alerts > 1 { tally.doubleAlerts.append(seed) }
            if cancelled.contains(id) {
                tally.cancelled += 1
                if alerts + silent > 0 { tally.shownAfterCancel.append(seed) }
                continue
            }
            guard let row = content.rows[id], row.wasAttempted, alerts + silent > 0 || row.cancelRequested else {
                tally.unattempted.append(seed)
                continue
            }
            let isLocal = row.claimID != nil
            tally.local += isLocal ? 1 : 0
            tally.byServer += isLocal ? 0 : 1
            let shown = phones.compactMap { $0.shownRevisions[id] }.flatMap { $0 }
            if shown.contains(where: { $0 != row.shownRev }) { tally.wrongRevision.append(seed) }
        }
    }

    // MARK: The network

    /// A call to the server that may be lost on the way there or back, or arrive twice.
    fileprivate func call<Answer>(_ phone: Phone, _ process: Process, _ body: () -> Answer) async throws(APIFailure)
        -> Answer
    {
        guard !process.isDead else { throw .lost("no network") }
        if happens(0.06) {
            lostCalls.with { $0 += 1 }
            throw .lost("no network")
        }
        let answer = body()
        if happens(0.05) { _ = body() }
        server.tick()
        distribute()
        if happens(0.1) { advance(Int64(roll(20 * 60)) * 1000) }
        if happens(0.1) { await phone.receiveAlert() }
        if happens(0.06) {
            lostCalls.with { $0 += 1 }
            throw .lost("no network")
        }
        if happens(0.02) { process.die() }
        return answer
    }

    /// One phone: an app process, an extension process, and the ledger that they share.
    final class Phone: @unchecked Sendable {
        // Sendable because one task drives the world.
        let id: String
        let hasLedger: Bool
        let clock: MovedClock
        let presenter = SimulatedPresenter()
        var pushes: [String] = []
        var deaths = 0
        var shownRevisions: [String: [Int]] = [:]
        private let ledger = Locked(Ledger())
        private var process = Process()
        private var engine: MomentEngine?
        private unowned let world: World

        init(_ number: Int, world: World) {
            id = uuid(900 + number)
            self.world = world
            hasLedger = number == 0 || world.roll(2) == 0
            clock = MovedClock(
                wall: world.server.content.now.now + Int64(world.roll(172_800) - 86_400) * 1000,
                uptime: Int64(world.roll(1_000_000)))
        }

        func start() async {
            ledger.with { ledger in
                var wanted = Registration(platform: "ios", address: .text(id))
                wanted.userID = "u"
                ledger.wanted = wanted
            }
            await restart()
        }

        /// A new process of the app.
        func restart() async {
            if process.isDead { deaths += 1 }
            process.die()
            let (process, world) = (Process(), world)
            self.process = process
            engine = MomentEngine(
                EngineParts(
                    state: MemoryState(ledger, process: process) { world.happens(0.02) },
                    models: MemoryState([:]), api: API(phone: self, process: process),
                    presenter: Board(phone: self, process: process), sensors: SimulatedSensors(), clock: clock,
                    policy: DicePolicy(dice: world.dice), images: NoImages(), makeID: { world.newID() },
                    utcOffsetSeconds: { _ in 3600 }, verify: { _, _, _ in false }, start: { await $0() })
            )
        }

        func wake(_ push: WakePush?) async {
            if process.isDead { await restart() }
            _ = try? await engine?.wake(push)
        }

        /// The system hands an alert to the extension, or shows it itself without one.
        func receiveAlert() async {
            guard !pushes.isEmpty else { return }
            let message = pushes.remove(at: world.roll(pushes.count))
            var isSilent = false
            if hasLedger {
                let receiver = AlertReceiver(
                    state: MemoryState(ledger, process: Process()) { false }, presenter: presenter,
                    api: API(phone: self, process: Process()), clock: clock, makeID: { self.world.newID() },
                    pause: { self.world.advance(Int64($0)) })
                isSilent = (try? await receiver.receive(message)) == .silence
                if world.roll(2) == 0 { try? await receiver.flush() }
            }
            presenter.present(LocalNotification(id: message, content: MessageContent(), isSilent: isSilent))
        }

        /// The person opens, dismisses or clears a notification. The system starts the app for the first two.
        func personActs(_ act: Int, _ message: String) async {
            guard presenter.state.now.displayed[message] != nil else { return }
            await presenter.remove([message])
            guard act < 2 else { return }
            if process.isDead { await restart() }
            let state = MemoryState(ledger, process: process) { self.world.happens(0.02) }
            try? state.update {
                $0.respond(
                    message, isDismissal: act == 1, button: nil, eventID: world.newID(),
                    now: $0.clock.now(clock.reading).milliseconds)
            }
        }

        /// The notification centre as the app's process sees it: it may die right after a display.
        private struct Board: NotificationPresenter {
            let phone: Phone
            let process: Process

            func add(_ notification: LocalNotification) async throws {
                guard !process.isDead else { throw Died() }
                if phone.world.happens(0.05) { await phone.receiveAlert() }
                if phone.world.happens(0.02) { throw SimulatedPresenter.Refused() }
                try await phone.presenter.add(notification)
                phone.shownRevisions[notification.id, default: []].append(Int(notification.content.body ?? "") ?? 0)
                if phone.world.happens(0.05) { process.die() }
            }

            func contains(_ id: String) async -> Bool { await phone.presenter.contains(id) }
            func permission() async -> NotificationPermission { NotificationPermission(allowsAlerts: true) }
            func register(_ categories: [NotificationCategory]) async {}
        }

        /// The server behind the bad network.
        private struct API: DeviceAPI {
            let phone: Phone
            let process: Process
            private var server: ModelServer { phone.world.server }

            init(phone: Phone, process: Process) { (self.phone, self.process) = (phone, process) }

            func register(_ registration: Registration) async throws(APIFailure) -> RegistrationAnswer {
                try await phone.world.call(phone, process) { server.register(phone.id, hasLedger: phone.hasLedger) }
            }
            func sync(_ request: SyncRequest, as deviceToken: String) async throws(APIFailure) -> SyncAnswer {
                try await phone.world.call(phone, process) { server.sync(request, phone.id) }
            }
            func claim(
                _ message: String, _ request: ClaimRequest, as deviceToken: String
            ) async throws(APIFailure) -> ClaimAnswer {
                try await phone.world.call(phone, process) { server.claim(message, request, phone.id) }
            }
            func report(_ events: [DeviceEvent], as deviceToken: String) async throws(APIFailure) -> EventsAnswer {
                try await phone.world.call(phone, process) { server.report(events, phone.id) }
            }
            func setTopic(_ topic: String, isSubscribed: Bool, as deviceToken: String) async throws(APIFailure) {}
            func unregister(as deviceToken: String) async throws(APIFailure) {}
        }
    }
}
