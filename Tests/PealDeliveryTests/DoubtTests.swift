import PealCore
import Testing

@testable import PealDelivery

@Suite("Doubted addresses")
struct DoubtTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let dead = ProviderAnswer(
        .verdict(.retireAddress(since: nil, isSuspicious: true)), reason: "BadDeviceToken")

    private func conclusion(attempt: Int) -> Conclusion {
        let now = Self.now
        let life = MessageLife(start: now, end: now + .seconds(86_400)).under(.init())
        var terms = Conclusion.Terms.trusting(life, now: now, attempt: attempt - 1)
        terms.suspicion = Conclusion.Suspicion(until: now + .seconds(600), attempt: attempt)
        return Conclusion([SentPage.ofOneDevice(Self.dead, at: now)], terms: terms, chance: 0)
    }

    @Test("are kept and tried again, up to the last attempt")
    func lastAttempt() {
        let before = conclusion(attempt: Limits.attemptsMax - 1)
        #expect(before.deferrals.map(\.readyAt) == [Self.now + .seconds(600)])
        #expect(before.log.entry(0).reason == "RetirementDoubted")
        let last = conclusion(attempt: Limits.attemptsMax)
        #expect(last.deferrals.isEmpty && last.retirements.isEmpty)
        #expect(last.log.entry(0).outcome == .rejected && last.log.entry(0).reason == "GaveUp")
    }

    @Test("are remembered for a bounded number of messages")
    func messages() {
        var evidence = RouteEvidence()
        func isNew(_ number: UInt64) -> Bool {
            evidence.doubt(MessageID(high: 0, low: number), devices: 1, isRepeated: false, now: .zero)
        }
        let first = (0..<64).map(isNew)
        #expect(first.allSatisfy { $0 })
        #expect(!isNew(0) && !isNew(63))
        #expect(isNew(64))
        #expect(isNew(0))
    }

    @Test("keep their answer if the message cannot be rendered for the other environment")
    func unrendered() {
        var page = SentPage.ofOneDevice(Self.dead, at: Self.now)
        let elsewhere = SentPage.ofOneDevice(ruled: .reject(reason: "PayloadTooLarge"), at: Self.now)
        page.heal([0], with: elsewhere, on: .apnsSandbox)
        #expect(page.healed.isEmpty)
        #expect(page.exceptions.map(\.answer.reason) == ["BadDeviceToken"])
    }
}
