import Foundation
import PealCore

/// The app and its devices, and which of them the push network reports as dead.
struct TorturePhones: Sendable {
    private static let devicesPerRequest = 1000

    private let schedule: TortureSchedule
    private let world: TortureWorld

    init(_ schedule: TortureSchedule, _ world: TortureWorld) {
        self.schedule = schedule
        self.world = world
    }

    static func address(_ device: Int) -> String {
        let digits = String(device, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    static func id(_ device: Int) -> DeviceID { DeviceID(high: 0x70E7, low: UInt64(device)) }

    /// Registers everything. Returns the path of the app.
    func prepare() async throws -> String {
        let address = await world.address()
        let at: @Sendable () async -> String = { "\(address)/peal/v1/apps" }
        let made = try await world.http.insist("POST", at, (["name": "torture"] as JSON).bytes)
        let app = "/peal/v1/apps/\(made["id"]?.stringValue ?? "")"
        let credential = try await world.credential()
        _ = try await world.http.insist("PUT", { "\(address)\(app)/credentials/apns/production" }, credential.bytes)
        for start in stride(from: 0, to: schedule.plan.devices, by: Self.devicesPerRequest) {
            let devices = (start..<min(schedule.plan.devices, start + Self.devicesPerRequest)).map(Self.device)
            let body: JSON = ["devices": .array(devices)]
            let result = try await world.http.insist("POST", { "\(address)\(app)/devices:batch" }, body.bytes)
            let refused = result["results"]?.arrayValue?.first { $0["error"] != nil }
            if let refused { throw TortureFailure("a device was refused: \(refused.text)") }
        }
        for device in 0..<schedule.plan.devices where schedule.isDead(device) {
            let fault = #"{"status": 410, "reason": "Unregistered", "timestamp": 4000000000000, "times": 1000000}"#
            _ = try await world.control("PUT", "/faults/devices/\(Self.address(device))", fault)
        }
        return app
    }

    private static func device(_ number: Int) -> JSON {
        [
            "id": .string(id(number).description), "platform": "ios", "address": .string(address(number)),
            "topics": .array([.string("topic-\(number % TortureSchedule.topics)")]),
        ]
    }
}

/// Sends the messages of a schedule, repeating each with the same idempotency key until it is accepted.
struct TortureAuthor: Sendable {
    private let schedule: TortureSchedule
    private let world: TortureWorld
    private let app: String
    private let record: TortureRecord

    init(_ schedule: TortureSchedule, _ world: TortureWorld, _ app: String, _ record: TortureRecord) {
        self.schedule = schedule
        self.world = world
        self.app = app
        self.record = record
    }

    func run() async throws {
        let clock = ContinuousClock()
        let begun = clock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for message in schedule.messages {
                group.addTask {
                    try await clock.sleep(until: begun + .seconds(message.at))
                    try await send(message)
                }
            }
            try await group.waitForAll()
        }
    }

    private func send(_ message: TortureSchedule.Message) async throws {
        let (world, app) = (world, app)
        let accepted = try await world.http.insist(
            "POST", { "\(await world.address())\(app)/messages" }, body(message).bytes, key: "m\(message.number)")
        guard let id = accepted["id"]?.stringValue else {
            throw TortureFailure("an answer without an id: \(accepted.text)")
        }
        await record.accepted(message.number, id: id)
        guard let pause = message.cancelledAfter else { return }
        try await Task.sleep(for: .seconds(pause))
        // 409: it has been sent.
        _ = try await world.http.insist(
            "POST", { "\(await world.address())\(app)/messages/\(id)/cancel" }, [], expect: [200, 409])
    }

    private func body(_ message: TortureSchedule.Message) -> JSON {
        let audience: JSON =
            switch message.audience {
            case .all: ["all": true]
            case .topic(let topic): ["topics": .array([.string("topic-\(topic)")])]
            case .devices(let devices):
                ["devices": .array(devices.map { .string(TorturePhones.id($0).description) })]
            }
        let life = message.lifeSeconds ?? 86_400
        return [
            "audience": audience,
            "content": [
                "title": "Torture", "body": .string("Message \(message.number)"),
                "data": ["n": .string("\(message.number)")],
            ],
            "options": ["ttl_seconds": .number("\(life)")],
        ]
    }
}
