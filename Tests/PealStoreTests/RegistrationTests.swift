import PealCore
import PealStore
import PealTesting
import Testing

@Suite("Registration")
struct RegistrationTests {
    @Test("a registered device is read back as it was registered", arguments: StoreUnderTest.allCases)
    func readBack(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        var registration = Fixture.registration(1, user: "anna", topics: ["b", "a"])
        registration.locale = "de-AT"
        registration.timeZone = "Europe/Vienna"
        registration.detail.osVersion = "17.1"
        registration.detail.identifiers = ["idfv": "X"]
        registration.detail.attributes = .init([("n", .number("1.0"))])
        let result = try await fixture.register(registration)
        #expect(result.isNew)
        let read = try await fixture.store.read { try $0.device(app: fixture.app, id: Fixture.deviceID(1)) }
        #expect(read == result.device)
        #expect(read?.topics == ["a", "b"])
        #expect(read?.locale == "de-AT")
        #expect(read?.timeZone == "Europe/Vienna")
        #expect(read?.detail == registration.detail)
    }

    @Test("keys count up from 1 and a re-registration keeps its own", arguments: StoreUnderTest.allCases)
    func keys(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        #expect(try await fixture.register(1).device.key == 1)
        #expect(try await fixture.register(2).device.key == 2)
        fixture.time.advance(by: .seconds(100))
        let again = try await fixture.register(1, address: Fixture.address(99))
        #expect(again.device.key == 1)
        #expect(!again.isNew)
        #expect(try await fixture.register(3).device.key == 3)
    }

    @Test("keys are consecutive although registrations of the same commit fail or find a known device")
    func keysOfFailures() async throws {
        let fixture = try await Fixture(.sqlite)
        try await fixture.register(1)
        await withTaskGroup(of: Void.self) { group in
            for number in 1...100 {
                group.addTask {
                    _ = try? await fixture.store.write(.intake) { [app = fixture.app, now = fixture.now] store in
                        for device in [10 * number, 10 * number + 1, 1, 10 * number + 2] {
                            _ = try store.register(Fixture.registration(device), app: app, now: now)
                        }
                        if number.isMultiple(of: 10) { throw PealError.notFound("app") }
                    }
                }
            }
        }
        let (keys, last) = try await fixture.test.engine.read { connection in
            (
                try connection.all("SELECT seq FROM device ORDER BY seq") { try $0.next(Int64.self) },
                try connection.value("SELECT device_seq FROM app", Int64.self)
            )
        }
        #expect(keys == Array(1...271) && last == 271)
    }

    @Test("a registration that changes nothing still counts as the latest", arguments: StoreUnderTest.allCases)
    func unchanged(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, topics: ["a"])
        fixture.time.advance(by: .milliseconds(1))
        #expect(try await fixture.register(1, topics: ["a"]).device.registeredAt == fixture.now)
        let stored = try await fixture.store.read { try $0.device(app: fixture.app, id: Fixture.deviceID(1)) }
        #expect(stored?.registeredAt == fixture.now)
    }

    @Test("topics are applied as a difference, and an absent list changes nothing", arguments: StoreUnderTest.allCases)
    func topicDifference(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, topics: ["a", "b"])
        fixture.time.advance(by: .seconds(5))
        let (message, plan) = try await fixture.send(.topics("a"))
        #expect(plan.state == .sending)
        fixture.time.advance(by: .seconds(5))
        try await fixture.register(1, topics: ["a", "c"])
        #expect(try await fixture.register(1, topics: nil).device.topics == ["a", "c"])
        #expect(try await Worker(fixture: fixture).run() == [1], "who opens its app during a send stays in it")
        #expect(try await fixture.state(message) == .sent)
        #expect(try await fixture.send(.topics("b")).plan.state == .sent, "nobody is in b any more")
    }

    @Test("an address that moves to a new id keeps its key and retires the old id", arguments: StoreUnderTest.allCases)
    func movedAddress(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, topics: ["a"])
        let moved = try await fixture.register(2, address: Fixture.address(1), topics: ["a"])
        #expect(moved.isNew)
        #expect(moved.device.key == 1)
        let old = try await fixture.store.read { try $0.device(app: fixture.app, id: Fixture.deviceID(1)) }
        #expect(old?.retirement == .init(at: fixture.now, reason: "AddressMoved"))
        #expect(old?.topics == ["a"])
        #expect(try await fixture.store.read { try $0.deviceCount(app: fixture.app, route: nil) } == 1)
        _ = try await fixture.send(.topics("a"))
        #expect(try await Worker(fixture: fixture).run() == [1])
        try await fixture.register(3, address: Fixture.address(1))
        let other = try await fixture.store.read { try $0.device(app: fixture.app, id: Fixture.deviceID(3)) }
        #expect(other?.key == 1 && other?.topics == [], "a new id inherits no topics")
    }

    @Test("an address that moves between known ids retires the one that had it", arguments: StoreUnderTest.allCases)
    func movedBetweenKnown(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1)
        try await fixture.register(2)
        let moved = try await fixture.register(2, address: Fixture.address(1))
        #expect(!moved.isNew)
        #expect(moved.device.key == 2)
        let old = try await fixture.store.read { try $0.device(app: fixture.app, id: Fixture.deviceID(1)) }
        #expect(old?.retirement?.reason == "AddressMoved")
        let back = try await fixture.register(1, address: Fixture.address(5))
        #expect(back.device.retirement == nil, "a retired device registers again and is active")
    }

    @Test("if the dialect requires it, the known id keeps the address", arguments: StoreUnderTest.allCases)
    func knownID(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "anna")
        var registration = Fixture.registration(2, address: Fixture.address(1), user: "bert")
        registration.identityOnMove = .knownID
        let result = try await fixture.register(registration)
        #expect(!result.isNew)
        #expect(result.device.id == Fixture.deviceID(1))
        #expect(result.device.userID == "bert")
        #expect(try await fixture.store.read { try $0.device(app: fixture.app, id: Fixture.deviceID(2)) } == nil)
    }

    @Test(
        "many registrations in one transaction have the same effect as separate ones",
        arguments: StoreUnderTest.allCases, 1...4)
    func together(_ engine: StoreUnderTest, seed: Int) async throws {
        let randomness = SeededRandomness(seed: UInt64(seed))
        func number(below limit: UInt64) -> Int { Int(randomness.next() % limit) }
        // First mostly new devices, then more and more known ids and addresses, also of the other environment.
        let registrations = (1...80).map { position in
            let route: Route = number(below: 5) == 0 ? .apnsSandbox : .apnsProduction
            var registration = Fixture.registration(
                position < 10 ? position : number(below: 60), address: Fixture.address(number(below: 60), route),
                user: "u\(number(below: 3))", topics: number(below: 3) == 0 ? nil : ["t\(number(below: 3))"])
            if number(below: 3) == 0 { registration.identityOnMove = .knownID }
            return registration
        }
        let (apart, together) = (try await Fixture(engine), try await Fixture(engine))
        for registration in registrations { try await apart.register(registration) }
        let isNew = try await together.store.write(.intake) { [app = together.app, now = together.now] store in
            try registrations.map { try store.register($0, app: app, now: now).isNew }
        }
        #expect(isNew.contains(true) && isNew.contains(false))
        let devices = try await devices(of: together)
        #expect(try await devices == self.devices(of: apart))
        #expect(devices.contains { $0.retirement != nil })
        #expect(Set(devices.map(\.key)).count == devices.count)
    }

    private func devices(of fixture: Fixture) async throws -> [Device] {
        try await fixture.store.read { try $0.devices(app: fixture.app, .init(), after: 0, limit: 200) }
    }

    @Test("devices are listed by user, address and topic", arguments: StoreUnderTest.allCases)
    func listing(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "anna", topics: ["a"])
        try await fixture.register(2, route: .fcm, user: "anna", topics: ["a"])
        try await fixture.register(3, user: "bert", topics: ["b"])
        func list(_ filter: DeviceFilter, after: DeviceKey = 0, limit: Int = 10) async throws -> [DeviceKey] {
            try await fixture.store.read {
                try $0.devices(app: fixture.app, filter, after: after, limit: limit).map(\.key)
            }
        }
        #expect(try await list(.init()) == [1, 2, 3])
        #expect(try await list(.init(), after: 1, limit: 1) == [2])
        #expect(try await list(.init(userID: "anna")) == [1, 2])
        #expect(try await list(.init(address: Fixture.address(3))) == [3])
        #expect(try await list(.init(topic: "a")) == [1, 2])
        #expect(try await list(.init(userID: "bert", topic: "a")) == [])
        #expect(try await list(.init(topic: "a"), after: 1) == [2])
    }

    @Test("erasing a user deletes every device and its subscriptions", arguments: StoreUnderTest.allCases)
    func erasure(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "anna", topics: ["a"])
        try await fixture.register(2, user: "anna")
        try await fixture.register(3, user: "bert", topics: ["a"])
        func erase() async throws -> Int {
            try await fixture.store.write(.control) {
                let erased = try $0.deleteUser(app: fixture.app, userID: "anna", now: fixture.now)
                #expect(erased.isComplete)
                return erased.devices
            }
        }
        #expect(try await erase() == 2)
        #expect(try await fixture.store.read { try $0.deviceCount(app: fixture.app, route: nil) } == 1)
        let topic = try await fixture.store.read { try $0.topic(app: fixture.app, name: "a", now: fixture.now) }
        #expect(topic?.deviceCount == 1)
        #expect(try await erase() == 0)
        #expect(try await fixture.register(4).device.key == 4, "keys are never given again")
    }

    @Test("topics are subscribed, left, expired and deleted", arguments: StoreUnderTest.allCases)
    func topics(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let app = fixture.app
        let now = fixture.now
        let key = try await fixture.register(1).device.key
        try await fixture.store.write(.control) {
            try $0.changeTopics(app: app, device: key, add: ["a", "b"], remove: ["c"], now: now)
            try $0.changeTopics(app: app, device: key, add: [], remove: ["b"], now: now)
            _ = try $0.putTopic(app: app, name: "old", expiresAt: now, now: now)
        }
        let listed = try await fixture.store.read { try $0.topics(app: app, after: nil, limit: 10, now: now) }
        #expect(listed.map(\.name) == ["a", "b"])
        #expect(listed.map(\.deviceCount) == [1, 0])
        #expect(try await fixture.store.read { try $0.topic(app: app, name: "old", now: now) } == nil)
        #expect(try await fixture.store.write(.control) { try $0.deleteTopic(app: app, name: "a", now: now) })
        #expect(try await fixture.store.write(.control) { try !$0.deleteTopic(app: app, name: "a", now: now) })
        let device = try await fixture.store.read { try $0.device(app: app, id: Fixture.deviceID(1)) }
        #expect(device?.topics == [])
        #expect(try await fixture.send(.topics("a")).plan.state == .sent)
    }

    @Test("a registration for an app that does not exist is refused", arguments: StoreUnderTest.allCases)
    func unknownApp(_ engine: StoreUnderTest) async throws {
        let fixture = Fixture(try await engine.open(), app: 77)
        await #expect(throws: PealError.notFound("app")) { try await fixture.register(1) }
    }
}
