import HTTPTypes
import PealCore
import PealTesting
import Testing

@testable import PealAPI

@Suite("Quotas of devices")
struct DeviceQuotaTests {
    private static func device(_ number: Int, topics: Int = 0) -> JSON {
        let address = String(repeating: "ab", count: 31) + Hex.encode([UInt8(number)])
        return [
            "platform": "ios", "address": .string(address),
            "topics": .array((0..<topics).map { .string("t\($0)") }),
        ]
    }

    @Test("a full app accepts no new device, and still updates known ones")
    func devices() async throws {
        var options = APIOptions()
        options.devicesPerAppMax = 2
        try await Fixture.open(options: options) { fixture in
            for number in 1...2 {
                #expect(try await fixture.admin(.post, "…/devices", Self.device(number)).status == 201)
            }
            let full = try await fixture.admin(.post, "…/devices", Self.device(3))
            #expect(full.status == 429)
            #expect(full.header("Retry-After") == "60")
            #expect(try await fixture.admin(.post, "…/devices", Self.device(2)).status < 300)
            let batch = try await fixture.admin(
                .post, "…/devices:batch", ["devices": [Self.device(1), Self.device(4)]])
            #expect(batch["results.0.status"]?.stringValue != nil)
            #expect(batch["results.1.error.code"] == "rate_limited")
        }
    }

    @Test("an app accepts its maximum of devices, at once and in a batch, and new ones in place of deleted ones")
    func races() async throws {
        var options = APIOptions()
        options.devicesPerAppMax = 5
        try await Fixture.open(options: options) { fixture in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 1...4 {
                    group.addTask { try await fixture.admin(.post, "…/devices", Self.device(number)).status }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == [201, 201, 201, 201])
            // What is refused takes no place.
            #expect(try await fixture.admin(.post, "…/devices", ["platform": "ios", "address": "x"]).status == 400)
            let batch = try await fixture.admin(
                .post, "…/devices:batch", ["devices": .array((5...9).map { Self.device($0) })])
            #expect(batch["results.0.status"] == "created")
            for index in 1...4 { #expect(batch["results.\(index).error.code"] == "rate_limited", "\(batch.text)") }
            let late = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 10...14 {
                    group.addTask { try await fixture.admin(.post, "…/devices", Self.device(number)).status }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(late == [429, 429, 429, 429, 429])
            let id = try #require(batch["results.0.id"]?.stringValue)
            #expect(try await fixture.admin(.delete, "…/devices/\(id)").status == 204)
            #expect(try await fixture.admin(.post, "…/devices", Self.device(15)).status == 201)
            #expect(try await fixture.admin(.post, "…/devices", Self.device(16)).status == 429)
        }
    }

    @Test(
        "concurrent registrations count the devices once, and only if the app may be full",
        arguments: [(64, 1), (200, 0)])
    func countsOnce(_ devicesMax: Int, _ counts: Int) async throws {
        var options = APIOptions()
        options.devicesPerAppMax = devicesMax
        try await Fixture.open(options: options, wrapping: { ObservedStore($0) }) { fixture in
            let store = try #require(fixture.store as? ObservedStore)
            for round in 1...2 {
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 1...64 {
                        group.addTask { try await fixture.admin(.post, "…/devices", Self.device(number)).status }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses.allSatisfy { $0 < 300 }, "\(statuses)")
                // The first registrations are those of an app without devices.
                #expect(store.heavyReads == (round == 1 ? 0 : counts))
                fixture.clock.advance(by: .seconds(61))
            }
        }
    }

    @Test("devices that were deleted take no room, although their keys are not used again")
    func deleted() async throws {
        var options = APIOptions()
        options.devicesPerAppMax = 5
        try await Fixture.open(options: options) { fixture in
            for number in 1...3 {
                let made = try await fixture.admin(.post, "…/devices", Self.device(number))
                let id = try #require(made["id"]?.stringValue)
                if number > 1 { #expect(try await fixture.admin(.delete, "…/devices/\(id)").status == 204) }
            }
            fixture.clock.advance(by: .seconds(61))
            let batch = try await fixture.admin(
                .post, "…/devices:batch", ["devices": .array((4...8).map { Self.device($0) })])
            for index in 0..<4 { #expect(batch["results.\(index).status"] == "created", "\(batch.text)") }
            #expect(batch["results.4.error.code"] == "rate_limited")
        }
    }

    @Test("the devices of an app that cannot be near the limit are not counted")
    func countsNone() async throws {
        try await Fixture.open(wrapping: { ObservedStore($0) }) { fixture in
            let store = try #require(fixture.store as? ObservedStore)
            #expect(try await fixture.admin(.post, "…/devices", Self.device(1)).status == 201)
            #expect(store.heavyReads == 0)
        }
    }

    @Test("a batch changes no more subscriptions than allowed; further devices are refused, each with its field")
    func batchTopics() async throws {
        var options = APIOptions()
        options.topicChangesPerBatchMax = 5
        try await Fixture.open(options: options) { fixture in
            let batch = { (topics: [Int]) in
                let devices = topics.enumerated().map { Self.device($0 + 1, topics: $1) }
                return try await fixture.admin(.post, "…/devices:batch", ["devices": .array(devices)])
            }
            // The third device begins below the limit, so that a device alone is never refused.
            let first = try await batch([2, 2, 3, 0, 1])
            #expect(first["results.2.status"] == "created")
            for index in [3, 4] {
                #expect(
                    first["results.\(index).error.field"]?.stringValue == "devices[\(index)].topics", "\(first.text)")
            }
            // Those that stay do not count, but those that end do.
            let same = try await batch([2, 2, 3, 2, 1])
            #expect((0..<5).allSatisfy { same["results.\($0).id"] != nil }, "\(same.text)")
            let none = try await batch([0, 0, 0, 0, 0])
            #expect(none["results.2.id"] != nil && none["results.3.error.field"] == "devices[3].topics", "\(none.text)")
        }
    }

    @Test("a device has no more topics than configured")
    func topics() async throws {
        var options = APIOptions()
        options.topicsPerDeviceMax = 2
        try await Fixture.open(options: options) { fixture in
            let refused = try await fixture.admin(.post, "…/devices", Self.device(1, topics: 3))
            #expect(refused.status == 400)
            #expect(refused.field == "topics")
            let made = try await fixture.admin(.post, "…/devices", Self.device(1, topics: 2))
            #expect(made.status == 201)
            let more = try await fixture.admin(.put, "…/devices/\(made["id"]?.stringValue ?? "")/topics/another")
            #expect(more.status == 400)
        }
    }
}
