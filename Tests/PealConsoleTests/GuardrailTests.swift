import Foundation
import PealCore
import PealExperiments
import PealTesting
import Testing

@Suite("A guardrail") struct GuardrailTests {
    /// The sums of users with so many cases of so many occasions each.
    private static func sums(_ users: [(cases: Int, occasions: Int)]) -> CaseSums {
        users.reduce(into: CaseSums()) { $0.add(cases: Int64($1.cases), of: Int64($1.occasions)) }
    }

    /// The sums of `occasions` users with one occasion each.
    private static func independent(_ cases: Int, of occasions: Int) -> CaseSums {
        sums((0..<occasions).map { (cases: $0 < cases ? 1 : 0, occasions: 1) })
    }

    private static func guardrail(_ aware: CaseSums, _ plain: CaseSums) -> Guardrail {
        Guardrail(.dismissed, contextAware: aware, traditional: plain)
    }

    @Test(
        "finds that something got worse only if luck does not explain it",
        arguments: [
            (60, 1000, 20, 1000, true), (25, 1000, 20, 1000, false), (20, 1000, 60, 1000, false),
            (6, 20, 0, 20, false), (0, 0, 0, 0, false), (5, 5, 0, 0, false), (1000, 1000, 1000, 1000, false),
            (19, 1900, 0, 100, false), (0, 0, 20, 20, false), (5, 50, 10, 950, false), (30, 250, 75, 4750, true),
        ])
    func worse(_ aware: Int, _ awareOf: Int, _ plain: Int, _ plainOf: Int, _ isWorse: Bool) {
        let guardrail = Self.guardrail(Self.independent(aware, of: awareOf), Self.independent(plain, of: plainOf))
        #expect(guardrail.isWorse == isWorse)
    }

    @Test("counts users instead of their messages: three who dismiss everything are luck, thirty are not")
    func clusters() {
        func arm(_ dismissing: Int) -> CaseSums {
            Self.sums((0..<200).map { (cases: $0 < dismissing ? 20 : 0, occasions: 20) })
        }
        #expect(!Self.guardrail(arm(3), arm(0)).isWorse)
        #expect(Self.guardrail(Self.independent(60, of: 4000), Self.independent(0, of: 4000)).isWorse)
        #expect(Self.guardrail(arm(30), arm(0)).isWorse)
    }

    @Test("has the standard error of a difference of shares if everybody has one message")
    func closedForm() {
        let guardrail = Self.guardrail(Self.independent(30, of: 100), Self.independent(40, of: 300))
        let share = 70.0 / 400
        let error = (share * (1 - share) * (1 / 100.0 + 1 / 300.0) * 400 / 399).squareRoot()
        #expect(abs(guardrail.standardError - error) < 1e-12)
        #expect(abs((guardrail.difference ?? 0) - (0.3 - 40.0 / 300)) < 1e-12)
    }

    @Test("has sums that a user's later messages can be added to")
    func later() {
        let (first, second) = (
            MessageCases.User(failed: 1, delivered: 3, dismissed: 2, observed: 2, withoutSession: 1),
            MessageCases.User(delivered: 4, dismissed: 1)
        )
        var (cases, whole) = (MessageCases(), MessageCases())
        cases.add(.init(delivered: 5), to: .init())
        cases.add(first, to: .init())
        cases.add(second, to: first)
        whole.add(first + second, to: .init())
        whole.add(.init(delivered: 5), to: .init())
        #expect(cases == whole && cases.failed.users == 2 && cases.withoutSession.users == 1)
        #expect(cases.dismissed.squaredCases == 9 && cases.dismissed.products == 21)
    }

    /// An experiment with users who get and dismiss messages with their own probabilities, read on each of 14 days.
    private struct Trial {
        /// Whether something got worse at any look, by users and by messages.
        var byUsers = false
        var byMessages = false
        /// The last difference in standard errors.
        var standardized = 0.0

        /// - Parameters:
        ///   - share: of users in the context-aware arm.
        ///   - factor: on the odds that a message is dismissed there.
        init(share: Double, factor: Double, _ randomness: SeededRandomness) {
            func unit() -> Double { (Double(randomness.next() >> 11) + 0.5) * 0x1p-53 }
            func normal() -> Double { (-2 * log(unit())).squareRoot() * cos(2 * .pi * unit()) }
            var sums = [Arm: CaseSums]()
            var users = (0..<200).map { _ in
                (
                    arm: unit() < share ? Arm.contextAware : .traditional, odds: exp(1.5 * normal() - 2.5),
                    activity: 0.05 + 0.95 * unit(), cases: 0, occasions: 0
                )
            }
            for _ in 0..<14 {
                for index in users.indices where unit() < users[index].activity {
                    let odds = users[index].odds * (users[index].arm == .contextAware ? factor : 1)
                    users[index].occasions += 1
                    if unit() < odds / (1 + odds) { users[index].cases += 1 }
                }
                for arm in Arm.allCases {
                    sums[arm] = GuardrailTests.sums(
                        users.filter { $0.arm == arm }.map { (cases: $0.cases, occasions: $0.occasions) })
                }
                look(sums)
            }
        }

        private mutating func look(_ sums: [Arm: CaseSums]) {
            let (aware, plain) = (sums[.contextAware] ?? .init(), sums[.traditional] ?? .init())
            let guardrail = GuardrailTests.guardrail(aware, plain)
            byUsers = byUsers || guardrail.isWorse
            let messages = [aware, plain].map {
                GuardrailTests.independent(Int($0.cases), of: Int($0.occasions))
            }
            byMessages = byMessages || GuardrailTests.guardrail(messages[0], messages[1]).isWorse
            standardized = guardrail.standardError > 0 ? (guardrail.difference ?? 0) / guardrail.standardError : 0
        }
    }

    @Test("rarely warns about arms that do not differ, although the messages of one user resemble each other")
    func falseAlarms() {
        let randomness = SeededRandomness(seed: 1)
        let trials = (0..<400).map { _ in Trial(share: 0.5, factor: 1, randomness) }
        let beyond = trials.count { abs($0.standardized) > 1.96 }
        #expect((8...34).contains(beyond), "nominally 5 %: \(beyond) of 400")
        #expect(trials.count { $0.byUsers } <= 6, "at any of 14 looks")
        #expect(trials.count { $0.byMessages } >= 12, "what the messages alone would suggest")
    }

    @Test("rarely warns if an arm has few users, such as a holdout", arguments: [0.95, 0.05])
    func smallArm(share: Double) {
        let randomness = SeededRandomness(seed: 2)
        let trials = (0..<200).map { _ in Trial(share: share, factor: 1, randomness) }
        #expect(trials.count { $0.byUsers } <= 5)
    }

    @Test("warns if people dismiss messages far more often")
    func power() {
        let randomness = SeededRandomness(seed: 3)
        let trials = (0..<100).map { _ in Trial(share: 0.5, factor: 4, randomness) }
        #expect(trials.count { $0.byUsers } >= 80)
    }
}
