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

    @Test("a network that is given a remaining life gets a new one after ten seconds", arguments: [Route.fcm, .wns])
    func relative(route: Route) {
        let first = variants(route, 0)
        #expect(variants(route, 9) === first)
        let second = variants(route, 10)
        #expect(second !== first)
        #expect(variants(route, 19) === second)
        // A rendering is not trusted because the clock was set back.
        #expect(variants(route, 0) !== second)
    }

    @Test("APNs is given an instant, which stays right")
    func absolute() {
        #expect(variants(.apnsProduction, 3000) === variants(.apnsProduction, 0))
    }
}
