import PealCore
import PealDelivery
import PealStore
import PealTesting
import Testing

@Suite("Delivery", .timeLimit(.minutes(10)))
struct DeliveryTests {
    @Test("reaches 10,000 devices exactly once, renders once, and logs each of them")
    func tenThousand() async throws {
        let bench = try await Bench()
        try await bench.register(1...10_000)
        let service = bench.service()
        try await bench.running(service) {
            let id = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.ended(id)
            #expect(try await bench.state(id) == .sent)
            let sent = bench.provider.sent(id)
            #expect(sent.count == 10_000)
            #expect(bench.provider.repeatCount(id) == 0)
            let counts = try await bench.counts(id)
            #expect(counts.accepted == 10_000)
            #expect(counts.devices == 10_000)
            #expect(bench.provider.renderings == 1)
            let largest = bench.provider.pages.map(\.page.count).max()
            #expect(largest == Limits.pageDevicesMax)
            for key: DeviceKey in [1, 4096, 4097, 10_000] {
                #expect(
                    try await bench.trail(id, key) == [DeliveryLogEntry(key: key, outcome: .accepted, attempt: 1)])
            }
            let snapshot = service.metrics.snapshot
            #expect(snapshot.notifications[.init(provider: .apns, outcome: .accepted)] == 10_000)
            #expect(try await bench.health() == .ok(at: bench.now))
        }
        #expect(try await bench.census().slicesLeased == 0)
    }

    @Test("takes a small message at once, and renders each language once")
    func direct() async throws {
        let bench = try await Bench()
        try await bench.register(1...20, locale: "de-AT")
        try await bench.register(21...40, locale: "fr")
        let service = bench.service()
        try await bench.running(service) {
            let title = LocalizedText.localized(["en": "Hello", "de": "Hallo"])
            let id = try await bench.accept(bench.draft(.devices(1...40), title: title), engine: service)
            try await bench.ended(id)
            #expect(bench.provider.sentCount(id) == 40)
            #expect(bench.provider.renderings == 2)
            let lanes = Set(bench.provider.pages.map(\.lane))
            #expect(lanes == [.direct])
            #expect(try await bench.trail(id, 5).map(\.locale) == ["de"])
            #expect(try await bench.trail(id, 30).map(\.locale) == ["en"])
        }
    }

    @Test("starts a scheduled message when its time has come and not before")
    func scheduled() async throws {
        let bench = try await Bench()
        try await bench.register(1...300)
        let service = bench.service()
        try await bench.running(service) {
            let start = bench.now + .seconds(90)
            let id = try await bench.accept(bench.draft(.all, startAt: start), engine: service)
            for _ in 0..<89 {
                bench.time.advance(by: .seconds(1))
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(try await bench.state(id) == .scheduled)
            #expect(bench.provider.sentCount(id) == 0)
            try await bench.drive { try await bench.state(id) == .sent }
            #expect(bench.provider.sentCount(id) == 300)
        }
    }

    @Test("sends nothing of an expired message and counts every device")
    func expired() async throws {
        let bench = try await Bench()
        try await bench.register(1...5000)
        let service = bench.service()
        try await bench.running(service) {
            let id = try await bench.accept(bench.draft(.all, lifeSeconds: -1), engine: service)
            try await bench.ended(id)
            #expect(try await bench.state(id) == .expired)
            #expect(try await bench.counts(id).expired == 5000)
            #expect(bench.provider.pages.isEmpty)
            #expect(try await bench.trail(id, 77).map(\.reason) == ["Expired"])
        }
    }

    @Test("names the reason where an app has no credential")
    func noCredential() async throws {
        let bench = try await Bench(hasCredential: false)
        try await bench.register(1...10)
        let service = bench.service()
        try await bench.running(service) {
            let id = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.ended(id)
            let counts = try await bench.counts(id)
            #expect(counts.suppressed == 10)
            #expect(counts.reasons == ["NoCredential": 10])
            #expect(try await bench.trail(id, 3).map(\.outcome) == [.suppressed])
        }
    }

    @Test("names the reason where no push network of ours reaches a platform", arguments: [Route.fcm, .baidu])
    func noProvider(route: Route) async throws {
        let bench = try await Bench()
        try await bench.register(1...10, route: route)
        try await bench.register(11...20)
        let service = bench.service()
        try await bench.running(service) {
            let id = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.ended(id)
            let counts = try await bench.counts(id)
            #expect(counts.suppressed == 10)
            #expect(counts.accepted == 10)
            #expect(counts.reasons == ["NoProvider": 10])
        }
    }

    @Test("rejects devices whose rendering fails and sends to the others")
    func renderingFails() async throws {
        let bench = try await Bench()
        try await bench.register(1...300, locale: "de")
        try await bench.register(301...500, locale: "en")
        bench.provider.failRendering(ContentRefusal(.payloadTooLarge, "too large", field: .title))
        let service = bench.service()
        try await bench.running(service) {
            let title = LocalizedText.localized(["en": "Hello", "de": "Hallo"])
            let id = try await bench.accept(bench.draft(.all, title: title), engine: service)
            try await bench.ended(id)
            let counts = try await bench.counts(id)
            #expect(counts.rejected == 300)
            #expect(counts.accepted == 200)
            #expect(counts.reasons == ["PayloadTooLarge": 300])
            let missed = Set(301...500).symmetricDifference(bench.provider.sent(id).keys)
            #expect(missed == [])
            let plain = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.ended(plain)
            #expect(try await bench.state(plain) == .sent)
            #expect(try await bench.counts(plain).rejected == 500)
        }
    }
}
