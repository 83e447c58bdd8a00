import PealCore
import PealStore
import PealTesting
import Testing

@Suite("Audience")
struct AudienceTests {
    /// Sends a message and returns the devices that got it, by route.
    private func reached(
        _ fixture: Fixture, _ audience: Audience, options: MessageOptions = .init(),
        routes: [Route] = [.apnsProduction, .apnsSandbox, .fcm]
    ) async throws -> [Route: [DeviceKey]] {
        let (id, _) = try await fixture.send(audience, options: options)
        var reached: [Route: [DeviceKey]] = [:]
        for route in routes {
            let keys = try await Worker(fixture: fixture).run(route)
            if !keys.isEmpty { reached[route] = keys }
        }
        #expect(try await fixture.state(id) == .sent)
        return reached
    }

    private func populated(_ engine: StoreUnderTest) async throws -> Fixture {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "anna", topics: ["a", "b"])
        try await fixture.register(2, route: .fcm, user: "anna", topics: ["a"])
        try await fixture.register(3, route: .apnsSandbox, user: "bert", topics: ["b"], interactive: false)
        try await fixture.register(4, topics: ["c"])
        return fixture
    }

    @Test("all, topics, users and devices reach their union, each device once", arguments: StoreUnderTest.allCases)
    func union(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine)
        #expect(
            try await reached(fixture, .all) == [.apnsProduction: [1, 4], .apnsSandbox: [3], .fcm: [2]])
        #expect(
            try await reached(fixture, .topics("a", "b")) == [.apnsProduction: [1], .apnsSandbox: [3], .fcm: [2]])
        #expect(try await reached(fixture, .users("anna", "nobody")) == [.apnsProduction: [1], .fcm: [2]])
        #expect(try await reached(fixture, .devices(4, 1, 99)) == [.apnsProduction: [1, 4]])
        var mixed = Audience.topics("b")
        mixed.users = ["anna"]
        mixed.devices = [Fixture.deviceID(1)]
        #expect(try await reached(fixture, mixed) == [.apnsProduction: [1], .apnsSandbox: [3], .fcm: [2]])
    }

    @Test("identifiers reach the active devices that have them", arguments: StoreUnderTest.allCases)
    func identifiers(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, identifiers: ["idfa": "A", "idfv": "V"])
        try await fixture.register(2, route: .fcm, identifiers: ["advertising_id": "A"])
        try await fixture.register(3, route: .fcm, identifiers: ["advertising_id": "B", "android_id": "V"])
        func reach(_ identifiers: DeviceIdentifier...) async throws -> [Route: [DeviceKey]] {
            var audience = Audience()
            audience.identifiers = identifiers
            return try await reached(fixture, audience)
        }
        #expect(try await reach(.init(.idfa, "A")) == [.apnsProduction: [1]])
        #expect(try await reach(.init(.idfv, "A")) == [:])
        #expect(try await reach(.init(.idfa, "a")) == [.apnsProduction: [1]], "case is insignificant")
        #expect(
            try await reach(.init(.idfa, "A"), .init(.idfv, "V"), .init(.advertisingID, "B"))
                == [.apnsProduction: [1], .fcm: [3]])
        try await fixture.register(1, identifiers: ["idfa": "C"])
        #expect(try await reach(.init(.idfa, "A")) == [:])
        #expect(try await reach(.init(.idfa, "C")) == [.apnsProduction: [1]])
        _ = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            try $0.deleteDevice(app: app, id: Fixture.deviceID(3), now: now)
        }
        #expect(try await reach(.init(.androidID, "V")) == [:])
    }

    @Test("platforms, environment, interactivity and excluded topics narrow", arguments: StoreUnderTest.allCases)
    func narrowing(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine)
        var audience = Audience.all
        audience.platforms = [.ios]
        #expect(try await reached(fixture, audience) == [.apnsProduction: [1, 4], .apnsSandbox: [3]])
        var options = MessageOptions()
        options.environment = .production
        #expect(try await reached(fixture, .all, options: options) == [.apnsProduction: [1, 4], .fcm: [2]])
        audience = .all
        audience.interactiveOnly = true
        #expect(try await reached(fixture, audience) == [.apnsProduction: [1, 4], .fcm: [2]])
        audience = .all
        audience.excludedTopics = ["a", "unknown"]
        #expect(try await reached(fixture, audience) == [.apnsProduction: [4], .apnsSandbox: [3]])
        audience = .users("anna", "bert")
        audience.excludedTopics = ["a"]
        audience.interactiveOnly = true
        #expect(try await reached(fixture, audience) == [:])
        audience = Audience()
        audience.addresses = [Fixture.address(50), Fixture.address(51, .fcm), Fixture.address(52, .wns)]
        audience.interactiveOnly = true
        let (app, now, counted) = (fixture.app, fixture.now, audience)
        #expect(
            try await fixture.store.read { try $0.audienceCount(app: app, counted, environment: nil, now: now) }
                == [.ios: 1, .android: 1])
    }

    @Test("a Web Push subscription that is named with several keys counts once", arguments: StoreUnderTest.allCases)
    func subscriptions(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine)
        var audience = Audience()
        audience.addresses = (0..<Limits.audienceAddressesMax).map { number in
            let endpoint = JSON.string("https://push.example/\(number / 2)")
            let subscription: JSON = ["endpoint": endpoint, "keys": ["auth": .string("\(number)")]]
            return Address(route: .webPush, bytes: subscription.bytes)
        }
        let (app, now, counted) = (fixture.app, fixture.now, audience)
        #expect(
            try await fixture.store.read { try $0.audienceCount(app: app, counted, environment: nil, now: now) }
                == [.web: Limits.audienceAddressesMax / 2])
    }

    @Test(
        "the address of a device reaches the device, and an unknown one is sent to", arguments: StoreUnderTest.allCases)
    func addresses(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine)
        var audience = Audience()
        audience.addresses = [
            Fixture.address(1), Fixture.address(50), Fixture.address(50), Fixture.address(51, .fcm),
        ]
        audience.devices = [Fixture.deviceID(1)]
        let (id, plan) = try await fixture.send(audience, owner: "me")
        #expect(plan.leasedSlices.count == 3)
        var seen: [String] = []
        for slice in plan.leasedSlices {
            let page = try await Worker(fixture: fixture).page(of: slice)
            for index in 0..<page.count {
                let address = Address(route: slice.id.route, bytes: Array(page.arena[page.addressRange(index)]))
                seen.append("\(slice.id.route) \(slice.id.holdsAddresses) \(page.keys[index])")
                #expect([1, 50, 51].map { Fixture.address($0, slice.id.route) }.contains(address))
            }
            _ = try await Worker(fixture: fixture).run(slice)
        }
        #expect(
            seen.sorted() == ["apns production false 1", "apns production true 1", "fcm true 1"])
        #expect(try await fixture.state(id) == .sent)
        let app = fixture.app
        let number = try await fixture.store.read {
            try $0.addressNumber(app: app, message: id, address: Fixture.address(50))
        }
        #expect(number == 1)
        #expect(
            try await fixture.store.read {
                try $0.addressNumber(app: app, message: id, address: Fixture.address(1))
            } == nil)
    }

    @Test(
        "a device that joins after the cutoff is not in the audience, and one that leaves is out at once",
        arguments: StoreUnderTest.allCases)
    func cutoff(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...4, topics: ["a"])
        try await fixture.register(5)
        let (all, _) = try await fixture.send(.all)
        let (topic, _) = try await fixture.send(.topics("a"))
        fixture.time.advance(by: .milliseconds(1))
        let app = fixture.app
        let now = fixture.now
        try await fixture.register(6, topics: ["a"])
        try await fixture.store.write(.control) { session in
            try session.changeTopics(app: app, device: 5, add: ["a"], remove: [], now: now)
            try session.changeTopics(app: app, device: 2, add: [], remove: ["a"], now: now)
            _ = try session.deleteDevice(app: app, id: Fixture.deviceID(3), now: now)
        }
        let slices = try await fixture.lease()
        let byMessage = Dictionary(grouping: slices, by: \.id.message)
        var reached: [DeviceKey] = []
        for slice in byMessage[all] ?? [] { reached += try await Worker(fixture: fixture).run(slice) }
        #expect(reached == [1, 2, 4, 5])
        reached = []
        for slice in byMessage[topic] ?? [] { reached += try await Worker(fixture: fixture).run(slice) }
        #expect(reached == [1, 4])
    }

    @Test("a device that changes route during a send is met at most once", arguments: StoreUnderTest.allCases)
    func changedRoute(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, topics: ["a"])
        try await fixture.register(2, route: .fcm, topics: ["a"])
        let (id, _) = try await fixture.send(.topics("a"))
        #expect(try await Worker(fixture: fixture).run(.apnsProduction) == [1])
        fixture.time.advance(by: .seconds(1))
        try await fixture.register(1, route: .fcm, address: Fixture.address(9, .fcm), topics: ["a"])
        #expect(try await Worker(fixture: fixture).run(.fcm) == [2])
        #expect(try await fixture.state(id) == .sent)
        _ = try await fixture.send(.topics("a"))
        #expect(try await Worker(fixture: fixture).run(.fcm) == [1, 2])
    }

    @Test("a device that has another user when its turn comes is skipped", arguments: StoreUnderTest.allCases)
    func formerUser(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...3 { try await fixture.register(number, user: "anna", topics: number == 3 ? ["a"] : nil) }
        try await fixture.register(4, identifiers: ["idfa": "A"])
        var named = Audience.users("anna", "carl")
        named.identifiers = [.init(.idfa, "A")]
        var mixed = Audience.topics("a")
        mixed.users = ["anna"]
        let messages = [try await fixture.send(named).id, try await fixture.send(mixed).id]
        fixture.time.advance(by: .seconds(5))
        try await fixture.register(1, user: "bert")
        try await fixture.register(3, user: nil, topics: ["a"])
        try await fixture.register(4, identifiers: ["idfa": "B"])
        // A device that is named only now is not added.
        try await fixture.register(5, user: "carl")
        let worker = Worker(fixture: fixture)
        var reached: [[DeviceKey]] = []
        for slice in try await fixture.lease() { reached.append(try await worker.run(slice)) }
        #expect(reached == [[2], [2, 3]], "the third is still in the topic")
        for message in messages { #expect(try await fixture.state(message) == .sent) }
    }

    @Test("devices that joined before the clock was set back are reached", arguments: StoreUnderTest.allCases)
    func clockSetBack(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        fixture.time.advance(by: .seconds(3600))
        try await fixture.register(1, topics: ["a"])
        fixture.time.advance(by: .seconds(-3600))
        try await fixture.register(2, topics: ["a"])
        var condition = Audience()
        condition.condition = .topic("a")
        for audience in [Audience.all, .topics("a"), condition] {
            #expect(try await reached(fixture, audience) == [.apnsProduction: [1, 2]])
        }
    }

    @Test("an expired topic reaches no device", arguments: StoreUnderTest.allCases)
    func expiredTopic(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, topics: ["a"])
        let app = fixture.app
        let now = fixture.now
        _ = try await fixture.store.write(.control) {
            try $0.putTopic(app: app, name: "a", expiresAt: now + .seconds(1), now: now)
        }
        #expect(try await fixture.send(.topics("a")).plan.state == .sending)
        fixture.time.advance(by: .seconds(1))
        #expect(try await fixture.send(.topics("a")).plan.state == .sent)
    }

    @Test("an empty audience ends the message at once", arguments: StoreUnderTest.allCases)
    func empty(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for audience in [Audience.all, .topics("a"), .users("x"), .devices(5)] {
            let (id, plan) = try await fixture.send(audience)
            #expect(plan.state == .sent)
            let report = try await fixture.store.read { try $0.report(app: fixture.app, id: id) }
            #expect(report?.total.devices == 0)
            #expect(report?.message.endedAt == fixture.now)
        }
        #expect(try await fixture.send(.all, lifeSeconds: 0).plan.state == .expired)
    }

    @Test("counting is exact, and so is the estimate of a small audience", arguments: StoreUnderTest.allCases)
    func counting(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine)
        let app = fixture.app
        let now = fixture.now
        var mixed = Audience.topics("a", "b")
        mixed.addresses = [Fixture.address(50)]
        let audience = mixed
        let counted = try await fixture.store.read {
            try $0.audienceCount(app: app, audience, environment: nil, now: now)
        }
        #expect(counted == [.ios: 3, .android: 1])
        let guessed = try await fixture.store.read {
            try $0.audienceEstimate(app: app, .users("anna"), environment: nil, now: now)
        }
        #expect(guessed == [.ios: 1, .android: 1])
    }

    @Test("key ranges and pages of any size reach every device exactly once", arguments: StoreUnderTest.allCases)
    func everybodyOnce(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] session in
            for number in 1...20_000 {
                let topics = ["all"] + (number % 7 == 0 ? ["sevens"] : []) + (number % 500 == 0 ? ["few"] : [])
                _ = try session.register(Fixture.registration(number, topics: topics), app: app, now: now)
            }
        }
        for (audience, step) in [
            (Audience.all, 1), (.topics("all", "sevens"), 1), (.topics("sevens"), 7), (.topics("few"), 500),
        ] {
            for limit in [100, 1024] {
                let (id, _) = try await fixture.send(audience)
                let keys = try await Worker(fixture: fixture, pageLimit: limit).run()
                #expect(keys.sorted() == Array(stride(from: step, through: 20_000, by: step)).map(DeviceKey.init))
                let report = try await fixture.store.read { try $0.report(app: fixture.app, id: id) }
                #expect(report?.total.accepted == 20_000 / step)
                #expect(report?.total.devices == 20_000 / step)
            }
        }
    }
}
