import Crypto
import Foundation
import PealCore
import PealTesting
import PealWire
import Synchronization
import Testing

import struct PealMoments.InstalledModels
import struct PealMoments.Signals

@testable import PealDevice
@testable import PealSDK

/// The whole loop: phones report what they showed, a day passes, the server trains, and phones use the new model. The
/// SDK, HTTP and the server are real; sensors, notification centre and clock are simulated.
@Suite("Model serving", .serialized, .timeLimit(.minutes(10)))
struct ModelServingTests {
    private static let phoneCount = 25
    private static let rounds = 12

    /// Everything that a phone finds around it.
    private final class Surroundings: Sensors, NotificationPresenter {
        private let isCharging = Mutex(false)
        private let displayed = Mutex<[String]>([])

        func set(isCharging: Bool) { self.isCharging.withLock { $0 = isCharging } }
        var shown: [String] { displayed.withLock { $0 } }

        func read() async -> Signals {
            var signals = Signals()
            signals.isCharging = isCharging.withLock { $0 }
            return signals
        }

        func add(_ notification: LocalNotification) async throws { displayed.withLock { $0.append(notification.id) } }
        func contains(_ id: String) async -> Bool { displayed.withLock { $0.contains(id) } }
        func permission() async -> NotificationPermission { NotificationPermission(allowsAlerts: true) }
        func register(_ categories: [NotificationCategory]) async {}
    }

    /// Shows everything at once while the test collects labels; then decides as the SDK does.
    private final class Policy: MomentPolicy {
        private let isEager = Mutex(true)

        func calmDown() { isEager.withLock { $0 = false } }

        func choose(_ wake: MomentWake) -> MomentChoice {
            var choice = ModelPolicy().choose(wake)
            if isEager.withLock({ $0 }) { choice.show = wake.held.first?.id }
            return choice
        }
    }

    private struct Phone: Sendable {
        let peal: Peal
        let models: any SharedState<[String: InstalledModels]>
        let around = Surroundings()
        let policy = Policy()

        init(_ number: Int, _ server: RunningServer, key: String, folder: URL, clock: MovedTime) async throws {
            var configuration = PealConfiguration(server: try #require(URL(string: server.address)), key: key)
            configuration.receivesAlerts = true
            configuration.folder = folder.appendingPathComponent("phone-\(number)")
            var dependencies = PealDependencies(exchange: URLSessionExchange(), presenter: around, sensors: around)
            dependencies.clock = clock
            dependencies.start = { await $0() }
            dependencies.verify = { publicKey, payload, signature in
                guard let bytes = Data(base64Encoded: publicKey),
                    let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes)
                else { return false }
                return key.isValidSignature(signature, for: payload)
            }
            var parts = dependencies.parts(configuration)
            parts.policy = policy
            models = parts.models
            peal = Peal(configuration, engine: MomentEngine(parts))
            await peal.setContextSharing(true)
            await peal.setDeviceToken(Data([UInt8](repeating: 0, count: 31) + [UInt8(number)]))
            try await peal.signIn(user: "u\(number)")
        }

        /// The person plugs the phone in or not, the phone wakes, and the person perhaps opens what it shows.
        func wake(isCharging: Bool, opens: Bool = false) async {
            around.set(isCharging: isCharging)
            let before = around.shown.count
            _ = await peal.didGetBackgroundTime()
            guard opens, around.shown.count > before, let id = around.shown.last else { return }
            await peal.didRespond(to: Push(["peal": ["message": id]]), .opened)
        }
    }

    private static func schedule(_ server: RunningServer, _ app: String, clock: MovedTime, hours: Int64) async throws {
        let until = Timestamp(milliseconds: clock.wall + hours * 3_600_000)
        let users = (0..<phoneCount).map { JSON.string("u\($0)") }
        _ = try await server.call(
            "POST", "\(app)/messages",
            [
                "audience": ["users": .array(users)], "content": ["title": "Hello", "body": "World"],
                "schedule": ["window": ["until": .string(until.description)]], "method": "context_aware",
                "campaign_id": "daily",
            ], expect: 202)
    }

    @Test("phones report, the server trains, and phones choose by the new model", .enabled(if: MovedTime.isPossible))
    func wholeLoop() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("peal-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let clock = try await MovedTime(in: folder)
        let fixture = try await ServerFixture(environment: clock.environment)
        let server = try await fixture.startServer(clock.environment)
        let app = try await fixture.makeApp(server)
        _ = try await server.call("PATCH", app, ["settings": ["device": ["verify_user_id": false]]], expect: 200)
        let made = try await server.call("POST", "\(app)/keys", ["dialect": "device"], expect: 201)
        let key = try #require(made["token"]?.stringValue)
        var phones: [Phone] = []
        for number in 0..<Self.phoneCount {
            phones.append(try await Phone(number, server, key: key, folder: folder, clock: clock))
        }

        for _ in 0..<Self.rounds { try await Self.schedule(server, app, clock: clock, hours: 6) }
        await withDiscardingTaskGroup { group in
            for (number, phone) in phones.enumerated() {
                group.addTask {
                    await phone.peal.didBecomeActive()
                    for round in 0..<Self.rounds {
                        let (isCharging, draw) = ((number + round) % 2 == 0, (number * 7 + round * 3) % 20)
                        await phone.wake(isCharging: isCharging, opens: draw < (isCharging ? 12 : 4))
                    }
                }
            }
        }
        #expect(phones.allSatisfy { $0.around.shown.count == Self.rounds })
        for phone in phones { #expect(try phone.models.read().isEmpty, "nothing has been trained") }

        try clock.advance(seconds: 25 * 3600)
        try await Polling.wait(for: "the model") {
            try await server.call("GET", "\(app)/campaigns/daily", expect: 200)["model"]?["version"] != nil
        }
        let model = try await server.call("GET", "\(app)/campaigns/daily", expect: 200)["model"]
        #expect(model?["labels"] == .integer(Self.phoneCount * Self.rounds) && model?["objections"] == [])

        // At the beginning of a long window waiting costs little, even at a good moment.
        try await Self.schedule(server, app, clock: clock, hours: 1)
        for (number, phone) in phones.enumerated() {
            phone.policy.calmDown()
            await phone.peal.didBecomeActive()
            let version = try phone.models.read().values.first?.version(of: "daily")
            #expect(version.map { JSON.integer($0) } == model?["version"], "the phone has verified and installed it")
            await phone.wake(isCharging: number % 2 == 0)
        }
        // Some messages are shown at random, so that the next model learns from them.
        let shown = phones.enumerated().filter { $0.element.around.shown.count > Self.rounds }.map(\.offset)
        #expect(shown.count { $0 % 2 == 0 } >= 9, "\(shown): a charging phone is a good moment here")
        #expect(shown.count { $0 % 2 == 1 } <= 3, "\(shown): another one waits")
        try await server.program.stop()
    }
}
