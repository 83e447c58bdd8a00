import Foundation
import PealCore
import PealTesting
import PealWire
import Synchronization
import Testing

@testable import PealDevice
@testable import PealSDK

/// The real SDK over real HTTP against a real server and simulator; only sensors and notification centre are simulated.
@Suite("A phone", .serialized, .timeLimit(.minutes(10)))
struct PhoneTests {
    private static let address = String(repeating: "0", count: 62) + "0a"

    /// What the person sees.
    private final class Screen: NotificationPresenter {
        private struct State {
            var shown: Set<String> = []
            var alerts: [String: Int] = [:]
        }

        private let state = Mutex(State())

        func add(_ notification: LocalNotification) async throws {
            state.withLock {
                $0.shown.insert(notification.id)
                if !notification.isSilent { $0.alerts[notification.id, default: 0] += 1 }
            }
        }

        func contains(_ id: String) async -> Bool { state.withLock { $0.shown.contains(id) } }
        func permission() async -> NotificationPermission { NotificationPermission(allowsAlerts: true) }
        func register(_ categories: [NotificationCategory]) async {}

        func alerts(_ id: String) -> Int { state.withLock { $0.alerts[id] ?? 0 } }
    }

    /// The network, which the test can cut in front of requests.
    private final class Network: HTTPExchange {
        struct Cut: Error {}

        private let exchange = URLSessionExchange()
        private let cut = Mutex<String?>(nil)

        /// Loses requests whose path contains `part`; nil for none.
        func lose(_ part: String?) { cut.withLock { $0 = part } }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            let part = cut.withLock { $0 }
            if let part, request.url.path.contains(part) { throw Cut() }
            return try await exchange.send(request)
        }
    }

    /// Whether this is a good moment, as the test says.
    private final class Mood: MomentPolicy {
        private let isGood = Mutex(false)

        func set(_ isGood: Bool) { self.isGood.withLock { $0 = isGood } }

        func choose(_ wake: MomentWake) -> MomentChoice {
            MomentChoice(show: isGood.withLock { $0 } ? wake.held.first?.id : nil, score: 0.25)
        }
    }

    /// A phone with a person signed in.
    private struct Phone {
        let peal: Peal
        let screen = Screen()
        let network = Network()
        let mood = Mood()

        init(_ server: RunningServer, key: String, folder: URL, name: String) async throws {
            var configuration = PealConfiguration(server: try #require(URL(string: server.address)), key: key)
            configuration.receivesAlerts = true
            configuration.folder = folder.appendingPathComponent(name)
            var parts = PealDependencies(exchange: network, presenter: screen).parts(configuration)
            parts.policy = mood
            peal = Peal(configuration, engine: MomentEngine(parts))
            await peal.setDeviceToken(Data([UInt8](repeating: 0, count: 31) + [10]))
            try await peal.signIn(user: "ann")
        }
    }

    private struct PhoneFixture {
        let fixture: ServerFixture
        let server: RunningServer
        let app: String
        let key: String

        init() async throws {
            fixture = try await ServerFixture()
            server = try await fixture.startServer()
            app = try await fixture.makeApp(server)
            _ = try await server.call(
                "PATCH", app, ["settings": ["device": ["verify_user_id": false]]], expect: 200)
            let made = try await server.call("POST", "\(app)/keys", ["dialect": "device"], expect: 201)
            key = try #require(made["token"]?.stringValue)
        }

        func phone(_ name: String = "phone") async throws -> Phone {
            try await Phone(server, key: key, folder: fixture.folder, name: name)
        }

        func schedule(_ title: String) async throws -> String {
            let until = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000) + 3_600_000)
            let sent = try await server.call(
                "POST", "\(app)/messages",
                [
                    "audience": ["users": ["ann"]], "content": ["title": .string(title), "body": "World"],
                    "schedule": ["window": ["until": .string(until.description)]], "method": "context_aware",
                ], expect: 202)
            return try #require(sent["id"]?.stringValue)
        }

        func receipts(_ message: String, of server: RunningServer? = nil) async throws -> JSON? {
            try await (server ?? self.server).call("GET", "\(app)/messages/\(message)", expect: 200)["receipts"]
        }

        /// The wake-ups that the simulated phone received.
        func wakes() async throws -> [Push] {
            try await fixture.inbox(device: PhoneTests.address).compactMap { item in
                guard item["headers"]?["apns-push-type"] == "background",
                    let payload = item["payload"]?.stringValue ?? item["payload"]?.text,
                    let json = try JSONSerialization.jsonObject(with: Data(payload.utf8)) as? [String: Any]
                else { return nil }
                return Push(json)
            }
        }
    }

    @Test("is woken, shows a message at a good moment, and reports what the person does with it")
    func wholeCourse() async throws {
        let phones = try await PhoneFixture()
        let phone = try await phones.phone()
        await phone.peal.didBecomeActive()
        let message = try await phones.schedule("Hello")
        try await Polling.wait(for: "the wake-up") { try await !phones.wakes().isEmpty }
        let wake = try #require(try await phones.wakes().first)

        #expect(await phone.peal.didReceive(wake) == .newData, "it synchronized")
        #expect(phone.screen.alerts(message) == 0, "not a good moment")
        phone.mood.set(true)
        #expect(await phone.peal.didGetBackgroundTime() == .newData)
        #expect(phone.screen.alerts(message) == 1)
        #expect(try await phones.receipts(message)?["shown"] == 1)

        let tap = Push(["peal": ["message": message]])
        await phone.peal.didRespond(to: tap, .button("like"))
        await phone.peal.didBecomeActive()
        #expect(try await phones.receipts(message)?["opened"] == 1)
        #expect(phone.screen.alerts(message) == 1)
        let shown = try await phones.server.waitForEnd("\(phones.app)/messages/\(message)")
        #expect(shown["state"] == "sent" && shown["counts"]?["accepted"] == 1)
        let alerts = try await phones.fixture.inbox(device: Self.address).filter {
            $0["headers"]?["apns-push-type"] == "alert"
        }
        #expect(alerts.isEmpty, "the server sent nothing beside the wake-up")
        try await phones.server.program.stop()
    }

    @Test("keeps the topics that a backend added when its token ends, and its own when the server deleted the device")
    func topics() async throws {
        let phones = try await PhoneFixture()
        let phone = try await phones.phone()
        await phone.peal.subscribe(to: "news")
        func device() async throws -> (id: String, topics: JSON?) {
            let id = try #require(await phone.peal.device)
            return (id, try await phones.server.call("GET", "\(phones.app)/devices/\(id)", expect: 200)["topics"])
        }
        let first = try await device().id
        _ = try await phones.server.call("PUT", "\(phones.app)/devices/\(first)/topics/vip", expect: 200)
        // Someone else registers the same address.
        let key = [("Authorization", "Bearer \(phones.key)")]
        let registration: JSON = ["platform": "ios", "address": .string(Self.address)]
        let other = try await RunningServer.request(
            "POST", "\(phones.server.address)/peal/device/v1/register", registration, headers: key)
        #expect(other.0 == 200)
        await phone.peal.didBecomeActive()
        let known = try await device()
        #expect(known.id == first && known.topics == ["news", "vip"])
        _ = try await phones.server.call("DELETE", "\(phones.app)/devices/\(first)", expect: 204)
        await phone.peal.didBecomeActive()
        let second = try await device()
        #expect(second.id != first && second.topics == ["news"])
        try await phones.server.program.stop()
    }

    @Test("keeps what a backend set on its device when the app starts again")
    func backendsFacts() async throws {
        let phones = try await PhoneFixture()
        let first = try await phones.phone()
        try await first.peal.setAttributes(["plan": "free"])
        let device = try #require(await first.peal.device)
        let path = "\(phones.app)/devices/\(device)"
        let facts: JSON = [
            "identifiers": ["devtodev_id": "7"], "attributes": ["plan": "pro"], "model": "iPhone18,1",
        ]
        _ = try await phones.server.call("PATCH", path, facts, expect: 200)
        let next = try await phones.phone()
        #expect(await next.peal.device == device)
        let stored = try await phones.server.call("GET", path, expect: 200)
        for name in ["identifiers", "attributes", "model"] { #expect(stored[name] == facts[name], "\(name)") }
        #expect(stored["user_id"] == "ann")
        try await phones.server.program.stop()
    }

    @Test("accepts as many attributes as the server accepts")
    func attributes() async throws {
        #expect(Attributes.bytesMax == Limits.attributesBytesMax)
        let phones = try await PhoneFixture()
        let phone = try await phones.phone()
        let text = String(repeating: "/\n", count: (Attributes.bytesMax - 17) / 3)
        try await phone.peal.setAttributes(["age": 30, "t": .text(text)])
        #expect(await phone.peal.lastRefusal == nil)
        let device = try #require(await phone.peal.device)
        let stored = try await phones.server.call("GET", "\(phones.app)/devices/\(device)", expect: 200)
        #expect(stored["attributes"]?["age"] == 30 && stored["attributes"]?["t"] == .string(text))
        try await phones.server.program.stop()
    }

    @Test("never shows a cancelled message")
    func cancelled() async throws {
        let phones = try await PhoneFixture()
        let phone = try await phones.phone()
        let message = try await phones.schedule("Never")
        await phone.peal.didBecomeActive()
        _ = try await phones.server.call("POST", "\(phones.app)/messages/\(message)/cancel", expect: 200)
        phone.mood.set(true)
        for _ in 0..<3 { _ = await phone.peal.didGetBackgroundTime() }
        await phone.peal.didBecomeActive()
        #expect(phone.screen.alerts(message) == 0)
        try await phones.server.program.stop()
    }

    @Test("shows a message once although the server is killed between claim and confirmation")
    func killed() async throws {
        let phones = try await PhoneFixture()
        let phone = try await phones.phone()
        let message = try await phones.schedule("Once")
        await phone.peal.didBecomeActive()
        phone.mood.set(true)
        phone.network.lose("/events")
        _ = await phone.peal.didGetBackgroundTime()
        #expect(phone.screen.alerts(message) == 1, "the claim was granted")
        #expect(try await phones.receipts(message)?["shown"] == 0)
        try await phones.server.program.kill()
        phone.network.lose(nil)
        _ = await phone.peal.didGetBackgroundTime()
        let port = phones.server.address.split(separator: ":").last.map(String.init) ?? ""
        let again = try await phones.fixture.startServer(["PEAL_HTTP_PORT": port])
        try await Polling.wait(for: "the confirmation") {
            await phone.peal.didBecomeActive()
            return try await phones.receipts(message, of: again)?["shown"] == 1
        }
        let ended = try await again.waitForEnd("\(phones.app)/messages/\(message)")
        #expect(ended["counts"]?["accepted"] == 1)
        #expect(phone.screen.alerts(message) == 1)
        try await again.program.stop()
    }
}
