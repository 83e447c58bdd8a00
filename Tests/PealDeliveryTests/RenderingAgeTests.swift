import PealCore
import Testing

@testable import PealDelivery

@Suite("The age of renderings")
struct RenderingAgeTests {
    private static let start = Timestamp(seconds: 1_800_000_000)
    private let work = MessageWork(
        job: DeliveryJob(
            message: Message(
                id: MessageID(high: 1, low: 2), app: 1, state: .sending, dialect: "native", campaignID: nil,
                createdAt: start, startAt: nil, expiresAt: start + .seconds(3600)),
            content: Content(), options: MessageOptions()),
        readAt: .zero)
    private let access = RouteAccess(
        .mpns(.init(identity: nil)),
        CredentialRecord(
            provider: .fcm, environment: .production, kind: "none", fingerprint: "f", facts: .init(), createdAt: start))

    private func variants(_ route: Route, _ seconds: Int64) -> Variants {
        work.variants(
            route: route, access: access, provider: ScriptedProvider(), now: Self.start + .seconds(seconds))
    }

    @Test("a request with a remaining lifetime is rendered again after ten seconds", arguments: [Route.fcm, .wns])
    func relative(route: Route) {
        let first = variants(route, 0)
        #expect(variants(route, 9) === first)
        let second = variants(route, 10)
        #expect(second !== first)
        #expect(variants(route, 19) === second)
        // A rendering is not trusted because the clock was set back.
        #expect(variants(route, 0) !== second)
    }

    private static func page(_ key: DeviceKey, _ locales: [String?], variant: UInt16) -> SentPage {
        var page = DevicePage(through: key, isLast: true, readAt: start, capacity: 1)
        [UInt8](repeating: 7, count: 32).withUnsafeBytes { page.append(key: key, address: $0, revision: 1, locale: 0) }
        let nothing = Notification(route: .fcm, path: .init([]), headers: [], body: .init([]))
        let variants = locales.map { Variants.Variant(locale: $0, notification: nothing, failure: nil) }
        return SentPage(page, .init(variants: variants, ofDevice: [variant]), [], now: start)
    }

    @Test("the log names the right locales of pages that were rendered at different times")
    func locales() {
        let pages = [
            Self.page(1, ["de"], variant: 0), Self.page(2, ["en", "de"], variant: 1),
            Self.page(3, ["en", "de"], variant: 0),
        ]
        let life = MessageLife(start: Self.start, end: Self.start + .seconds(3600)).under(.init())
        let log = Conclusion(pages, terms: .trusting(life, now: Self.start), chance: 0).log
        #expect((0..<3).map { log.entry($0).locale } == ["de", "de", "en"])
    }

    @Test("a request to APNs has the time of expiry, and is rendered once")
    func absolute() {
        #expect(variants(.apnsProduction, 3000) === variants(.apnsProduction, 0))
    }
}
