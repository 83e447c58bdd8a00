import PealCore
import PealDelivery
import PealStore
import PealTesting
import Testing

@Suite("Delivery", .timeLimit(.minutes(10)))
struct DeliveryTests {
    @Test("reaches 10,000 devices exactly once, renders once, and logs each of them")
    func tenThousand() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10_000)
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.ended(id)
            #expect(try await fixture.state(id) == .sent)
            let sent = fixture.provider.sent(id)
            #expect(sent.count == 10_000)
            #expect(fixture.provider.repeatCount(id) == 0)
            let counts = try await fixture.counts(id)
            #expect(counts.accepted == 10_000)
            #expect(counts.devices == 10_000)
            #expect(fixture.provider.renderings == 1)
            let largest = fixture.provider.pages.map(\.page.count).max()
            #expect(largest == Limits.pageDevicesMax)
            for key: DeviceKey in [1, 4096, 4097, 10_000] {
                #expect(
                    try await fixture.trail(id, key) == [DeliveryLogEntry(key: key, outcome: .accepted, attempt: 1)])
            }
            let snapshot = service.metrics.snapshot
            #expect(snapshot.notifications[.init(provider: .apns, outcome: .accepted)] == 10_000)
            #expect(try await fixture.health() == .ok(at: fixture.now))
        }
        #expect(try await fixture.census().slicesLeased == 0)
    }

    @Test("sends a small message at once, and renders each language once")
    func direct() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...20, locale: "de-AT")
        try await fixture.register(21...40, locale: "fr")
        let service = fixture.service()
        try await fixture.running(service) {
            let title = LocalizedText.localized(["en": "Hello", "de": "Hallo"])
            let id = try await fixture.accept(fixture.draft(.devices(1...40), title: title), engine: service)
            try await fixture.ended(id)
            #expect(fixture.provider.sentCount(id) == 40)
            #expect(fixture.provider.renderings == 2)
            let lanes = Set(fixture.provider.pages.map(\.lane))
            #expect(lanes == [.direct])
            #expect(try await fixture.trail(id, 5).map(\.locale) == ["de"])
            #expect(try await fixture.trail(id, 30).map(\.locale) == ["en"])
        }
    }

    @Test("uses the devices that came with the job if they were just read, and otherwise reads them")
    func plannedPages() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...2)
        let service = fixture.service()
        try await fixture.running(service) {
            try await fixture.eventually { service.leaseOffer != nil }
            for (hasPages, age, isUsed) in [(true, 0, true), (true, 250, false), (false, 0, false)] {
                let draft = fixture.draft(.devices(1...2))
                let offer = try #require(service.leaseOffer)
                let plan = try await fixture.store.write(.intake) { [now = fixture.now] in
                    try $0.insertPlanned(draft, under: offer, now: now)
                }
                let slice = try #require(plan.leasedSlices.first)
                var page = DevicePage(through: slice.keyTo, isLast: true, readAt: fixture.now)
                for key in plan.pages[slice.id]?.keys ?? [] {
                    [UInt8(9)].withUnsafeBytes { page.append(key: key, address: $0, revision: 1, locale: 0) }
                }
                let job = DeliveryJob(draft, pages: hasPages ? [slice.id: page] : [:])
                fixture.time.advance(by: .milliseconds(age))
                service.take([slice], of: job, under: offer)
                try await fixture.ended(draft.id)
                let sent = try #require(fixture.provider.pages.last?.page)
                #expect(sent.keys == [1, 2])
                #expect((sent.arena == [9, 9]) == isUsed)
            }
        }
    }

    @Test("starts a scheduled message when its time has come and not before")
    func scheduled() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...300)
        let service = fixture.service()
        try await fixture.running(service) {
            let start = fixture.now + .seconds(90)
            let id = try await fixture.accept(fixture.draft(.all, startAt: start), engine: service)
            try await fixture.pass(seconds: 89)
            #expect(try await fixture.state(id) == .scheduled)
            #expect(fixture.provider.sentCount(id) == 0)
            try await fixture.drive { try await fixture.state(id) == .sent }
            #expect(fixture.provider.sentCount(id) == 300)
        }
    }

    @Test("sends nothing of an expired message and counts every device")
    func expired() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...5000)
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all, lifeSeconds: -1), engine: service)
            try await fixture.ended(id)
            #expect(try await fixture.state(id) == .expired)
            #expect(try await fixture.counts(id).expired == 5000)
            #expect(fixture.provider.pages.isEmpty)
            #expect(try await fixture.trail(id, 77).map(\.reason) == ["Expired"])
        }
    }

    @Test(
        "sends nothing after the expiry, although a page waited for connections, and keeps the route open",
        arguments: [ScriptedProvider.Reply.unsent("Deadline"), .withdrawn("Deadline")])
    func expiredInQueue(_ reply: ScriptedProvider.Reply) async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...300)
        fixture.provider.hold()
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all, lifeSeconds: 3), engine: service)
            try await fixture.eventually { fixture.provider.heldCount == 1 }
            #expect(fixture.provider.pages.map(\.deadline) == [fixture.time.uptime + .seconds(3)])
            fixture.provider.answers { _ in reply }
            fixture.time.advance(by: .seconds(3))
            fixture.provider.release()
            try await fixture.ended(id)
            #expect(try await fixture.state(id) == .expired)
            #expect(try await fixture.counts(id).expired == 300)
            #expect(fixture.provider.sentCount(id) == 0)
            #expect(service.metrics.snapshot.breakerTrips == 0)
        }
    }

    @Test("expires only the straggler whose request could not be repeated in time")
    func expiredStraggler() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...300)
        fixture.provider.answers { $0.key == 1 ? .silence : .accepted }
        let service = fixture.service()
        try await fixture.running(service) {
            let expiry = fixture.time.now + .seconds(16)
            let id = try await fixture.accept(fixture.draft(.all, lifeSeconds: 16), engine: service)
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.counts(id).accepted == 299 }
            fixture.time.advance(by: expiry - fixture.time.now)
            fixture.provider.answerOpen(ProviderAnswer(.unsent, reason: "Deadline"))
            try await fixture.ended(id)
            let counts = try await fixture.counts(id)
            #expect(counts.accepted == 299 && counts.expired == 1 && counts.pending == 0)
            #expect(try await fixture.trail(id, 2).map(\.outcome) == [.accepted])
        }
    }

    @Test("states the reason if an app has no credential")
    func noCredential() async throws {
        let fixture = try await DeliveryFixture(hasCredential: false)
        try await fixture.register(1...10)
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.ended(id)
            let counts = try await fixture.counts(id)
            #expect(counts.suppressed == 10)
            #expect(counts.reasons == ["NoCredential": 10])
            #expect(try await fixture.trail(id, 3).map(\.outcome) == [.suppressed])
        }
    }

    @Test("sends nothing to a platform without content, and states the reason")
    func noContent() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        let service = fixture.service()
        try await fixture.running(service) {
            var draft = fixture.draft(.all)
            draft.content.absentPlatforms = [.ios]
            let id = try await fixture.accept(draft, engine: service)
            try await fixture.ended(id)
            let counts = try await fixture.counts(id)
            #expect(counts.suppressed == 10 && counts.reasons == ["NoContent": 10])
            #expect(fixture.provider.sentCount(id) == 0)
            #expect(try await fixture.trail(id, 3).map(\.reason) == ["NoContent"])
        }
    }

    @Test("states the reason if no push network reaches a platform", arguments: [Route.fcm, .baidu])
    func noProvider(route: Route) async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10, route: route)
        try await fixture.register(11...20)
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.ended(id)
            let counts = try await fixture.counts(id)
            #expect(counts.suppressed == 10)
            #expect(counts.accepted == 10)
            #expect(counts.reasons == ["NoProvider": 10])
        }
    }

    @Test("rejects devices whose rendering fails and sends to the others")
    func renderingFails() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...300, locale: "de")
        try await fixture.register(301...500, locale: "en")
        fixture.provider.failRendering(ContentRefusal(.payloadTooLarge, "too large", field: .title))
        let service = fixture.service()
        try await fixture.running(service) {
            let title = LocalizedText.localized(["en": "Hello", "de": "Hallo"])
            let id = try await fixture.accept(fixture.draft(.all, title: title), engine: service)
            try await fixture.ended(id)
            let counts = try await fixture.counts(id)
            #expect(counts.rejected == 300)
            #expect(counts.accepted == 200)
            #expect(counts.reasons == ["PayloadTooLarge": 300])
            let english = try await fixture.store.read { [app = fixture.app] store in
                try (301...500).compactMap { try store.device(app: app, id: DeliveryFixture.deviceID($0))?.key }
            }
            #expect(english.count == 200 && Set(english) == Set(fixture.provider.sent(id).keys))
            let plain = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.ended(plain)
            #expect(try await fixture.state(plain) == .sent)
            #expect(try await fixture.counts(plain).rejected == 500)
        }
    }
}
