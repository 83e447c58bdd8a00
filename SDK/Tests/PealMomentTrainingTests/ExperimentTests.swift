import Foundation
import Testing

@testable import PealMomentTraining

@Suite("Experiments")
struct ExperimentTests {
    @Test("assign users by the published vector")
    func vector() {
        let experiment = ExperimentAssignment(app: "com.example.demo", salt: "s1", campaign: "daily-reminder")
        #expect(abs(experiment.unit(of: "user-42") - 0.0055968) < 1e-7)
        let input = Array("ab1\u{1F}com.example.demo\u{1F}s1\u{1F}daily-reminder\u{1F}user-42".utf8)
        #expect(Array(SHA256.hash(input).prefix(8)) == [0x01, 0x6E, 0xCB, 0xDD, 0x6F, 0x37, 0xF0, 0x94])
        #expect(experiment.arm(of: "user-42", share: 0.5) == .contextAware)
        #expect(experiment.arm(of: "user-42", share: 0.005) == .traditional)
        let first = (0..<10_000).count { experiment.unit(of: "u\($0)") < 0.5 }
        #expect((4800...5200).contains(first))
    }

    @Test(
        "hash as FIPS 180-4 has it",
        arguments: [
            ("", [0xE3, 0xB0, 0xC4, 0x42] as [UInt8]), ("abc", [0xBA, 0x78, 0x16, 0xBF]),
            ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", [0x24, 0x8D, 0x6A, 0x61]),
            (String(repeating: "a", count: 1000), [0x41, 0xED, 0xEC, 0xE4]),
        ])
    func sha256(text: String, beginning: [UInt8]) {
        #expect(Array(SHA256.hash(Array(text.utf8)).prefix(4)) == beginning)
    }

    private func users(
        _ count: Int, lift: Double, messages: Int = 20, seed: UInt64
    ) -> [ExperimentUser] {
        var chance = Chance(seed)
        return (0..<count).map { index in
            let rate = 0.01 + 0.2 * chance.unit()
            let arm: ExperimentAssignment.Arm = index % 2 == 0 ? .contextAware : .traditional
            let real = rate * (arm == .contextAware ? 1 + lift : 1)
            let prior = (0..<40).count { _ in chance.unit() < rate } * 25 - 110
            return ExperimentUser(
                arm: arm, messages: messages, opens: (0..<messages).count { _ in chance.unit() < real },
                prior: prior)
        }
    }

    @Test("compare arms by the ratio of sums, with users as units")
    func closedForm() throws {
        let people = [(2, 1), (1, 1), (3, 0)].map {
            ExperimentUser(arm: .contextAware, messages: $0.0, opens: $0.1)
        }
        let others = [(1, 0), (1, 1)].map { ExperimentUser(arm: .traditional, messages: $0.0, opens: $0.1) }
        let comparison = try #require(ArmComparison(people + others))
        // Rates 1/3 and 1/2; residuals (1/3, 2/3, -1)/2 and (-1/2, 1/2).
        #expect(abs(comparison.difference + 1.0 / 6) < 1e-12)
        let one = (1.0 / 36 + 4.0 / 36 + 9.0 / 36) / 2 / 3
        #expect(abs(comparison.variance - (one + 0.5 / 2)) < 1e-12)
        #expect(comparison.variance == comparison.plainVariance)
        #expect(ArmComparison(people) == nil)
    }

    @Test(
        "of which one should be empty have the wrong sizes as soon as it has a user",
        arguments: [(0.0, 0, 100_000, false), (0, 1, 100_000, true), (1, 100_000, 0, false), (1, 100_000, 1, true)])
    func emptyArm(share: Double, contextAware: Int, traditional: Int, isRaised: Bool) {
        var alarm = SampleRatioAlarm(share: share)
        alarm.record(contextAware: contextAware, traditional: traditional)
        #expect(alarm.isRaised == isRaised)
    }

    @Test("narrow their interval by what users did before")
    func cuped() throws {
        let people = users(4000, lift: 0.2, seed: 3)
        let comparison = try #require(ArmComparison(people))
        #expect(comparison.variance < 0.95 * comparison.plainVariance)
        #expect(comparison.interval().contains(comparison.difference))
        let plain = try #require(ArmComparison(people, usesPriors: false))
        #expect(plain.variance == comparison.plainVariance && plain.difference != comparison.difference)
    }

    @Test("correct their difference as least squares do")
    func leastSquares() throws {
        // Of one message each, the correction is the regression of opens on the arm and the prior.
        var chance = Chance(5)
        let people = (0..<400).map { index in
            let prior = Int(chance.unit() * 300)
            let open = chance.unit() < 0.1 + Double(prior) / 400 + (index % 2 == 0 ? 0.2 : 0)
            return ExperimentUser(
                arm: index % 2 == 0 ? .contextAware : .traditional, messages: 1, opens: open ? 1 : 0, prior: prior)
        }
        func mean(_ arm: ExperimentAssignment.Arm, _ value: (ExperimentUser) -> Double) -> Double {
            let own = people.filter { $0.arm == arm }
            return own.reduce(0) { $0 + value($1) } / Double(own.count)
        }
        var (product, square) = (0.0, 0.0)
        for user in people {
            let deviation = Double(user.prior) - mean(user.arm) { Double($0.prior) }
            product += deviation * (Double(user.opens) - mean(user.arm) { Double($0.opens) })
            square += deviation * deviation
        }
        let opens = mean(.contextAware) { Double($0.opens) } - mean(.traditional) { Double($0.opens) }
        let priors = mean(.contextAware) { Double($0.prior) } - mean(.traditional) { Double($0.prior) }
        let comparison = try #require(ArmComparison(people))
        #expect(abs(comparison.difference - (opens - product / square * priors)) < 1e-12)
    }

    @Test("are not corrected while an arm has few users, or if no user's prior is known")
    func uncorrected() throws {
        let few = try #require(ArmComparison(users(98, lift: 0.2, seed: 3)))
        #expect(few.variance == few.plainVariance)
        let enough = try #require(ArmComparison(users(100, lift: 0.2, seed: 3)))
        #expect(enough.variance < enough.plainVariance)
        let unknown = users(4000, lift: 0.2, seed: 3).map {
            ExperimentUser(arm: $0.arm, messages: $0.messages, opens: $0.opens)
        }
        let comparison = try #require(ArmComparison(unknown))
        #expect(comparison.variance == comparison.plainVariance)
    }

    @Test(
        "decide what is true",
        arguments: [
            (0.0, ExperimentDecision.undecided), (0.6, .promote), (-0.5, .revert),
        ])
    func decisions(lift: Double, decision: ExperimentDecision) throws {
        let comparison = try #require(ArmComparison(users(4000, lift: lift, seed: 8)))
        #expect(ExperimentDecision(comparison, isRatioSound: true) == decision)
        #expect(ExperimentDecision(comparison, isRatioSound: false) == .untrustworthy)
        #expect((comparison.chanceOfGain > 0.99) == (lift > 0.5))
    }

    @Test("decide nothing with a handful of users, who may all do the same", arguments: [2, 9, 10])
    func fewUsers(count: Int) throws {
        let users = [(ExperimentAssignment.Arm.contextAware, 1), (.traditional, 0)].flatMap { arm, opens in
            [ExperimentUser](repeating: ExperimentUser(arm: arm, messages: 1, opens: opens), count: count)
        }
        let comparison = try #require(ArmComparison(users))
        #expect(comparison.variance == 0 && comparison.difference == 1)
        #expect(ExperimentDecision(comparison, isRatioSound: true) == (count < 10 ? .undecided : .promote))
    }

    @Test(
        "have a lift with an interval that agrees with that of the difference",
        arguments: [-0.6, -0.1, 0, 0.1, 0.6, 3])
    func liftInterval(lift: Double) throws {
        for (count, seed) in [(40, 1), (400, 2), (4000, 3)] as [(Int, UInt64)] {
            let comparison = try #require(ArmComparison(users(count, lift: lift, seed: seed)))
            let interval = try #require(comparison.liftInterval())
            #expect(interval.contains(comparison.lift) && interval.lowerBound >= -1)
            #expect(interval.contains(0) == comparison.interval().contains(0))
            #expect(interval.upperBound <= max(10, 10 * comparison.lift))
        }
        let unopened = [ExperimentAssignment.Arm.contextAware, .traditional].flatMap { arm in
            [ExperimentUser](repeating: ExperimentUser(arm: arm, messages: 1, opens: 0), count: 20)
        }
        #expect(try #require(ArmComparison(unopened)).liftInterval() == nil)
    }

    @Test("have a lift whose interval contains the truth, even beside a holdout whose rate is uncertain")
    func liftCoverage() throws {
        var chance = Chance(11)
        var (missed, missedWithoutRate) = (0, 0)
        for _ in 0..<200 {
            // 80 % more opens in the larger arm.
            let people = (0..<600).map { index in
                let rate = 0.01 + 0.2 * chance.unit()
                let arm: ExperimentAssignment.Arm = index % 20 == 0 ? .traditional : .contextAware
                let real = arm == .contextAware ? 1.8 * rate : rate
                return ExperimentUser(
                    arm: arm, messages: 10, opens: (0..<10).count { _ in chance.unit() < real })
            }
            let comparison = try #require(ArmComparison(people))
            guard let interval = comparison.liftInterval(alpha: 0.3) else { continue }
            if !interval.contains(0.8) { missed += 1 }
            let (difference, rate) = (comparison.interval(alpha: 0.3), comparison.traditional.rate)
            if !difference.contains(0.8 * rate) { missedWithoutRate += 1 }
        }
        #expect(missed <= 60, "nominally 30 % at all looks together")
        #expect(missedWithoutRate > missed)
    }

    @Test("keep a holdout after a promotion")
    func holdout() {
        #expect(ExperimentDecision.promote.shareAfterwards == 0.95)
        #expect(ExperimentDecision.revert.shareAfterwards == 0)
        #expect(ExperimentDecision.undecided.shareAfterwards == nil)
    }

    @Test("have intervals wider than a single look's, with an edge where the test just rejects")
    func alwaysValid() {
        let width = AlwaysValid.halfWidth(variance: 1e-6, spread: 0.01, alpha: 0.05)
        #expect(width > 1.96e-3 && width < 5e-3)
        // The likelihood ratio of the mixture, a normal distribution of variance 1e-4, at the edge.
        let sum = 1e-6 + 1e-4
        let ratio = (1e-6 / sum).squareRoot() * exp(0.5 * width * width * 1e-4 / (1e-6 * sum))
        #expect(abs(1 / ratio - 0.05) < 1e-9)
    }

    @Test(
        "notice arms of wrong sizes and none else",
        arguments: [
            (10_000, 10_000, false), (5100, 4900, false), (10_400, 9600, true), (600, 400, true),
        ])
    func sampleRatio(one: Int, other: Int, isRaised: Bool) {
        var alarm = SampleRatioAlarm(share: 0.5)
        alarm.record(contextAware: one, traditional: other)
        #expect(alarm.isRaised == isRaised)
        alarm.record(contextAware: 10_000, traditional: 10_000)
        #expect(alarm.isRaised == isRaised)
    }

    @Test("say how many messages they need")
    func planning() {
        let needed = ExperimentDecision.messagesNeeded(rate: 0.05, lift: 0.2)
        #expect((12_000...12_400).contains(needed))
        #expect(ExperimentDecision.messagesNeeded(rate: 0.05, lift: 0.1) > 3 * needed)
    }
}
