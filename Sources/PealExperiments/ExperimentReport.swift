package import PealCore
package import PealMomentTraining

/// The result of a campaign's experiment: the arms as they are now, the decision, and how the difference developed.
package struct ExperimentReport: Sendable {
    /// Without the users.
    package let facts: ExperimentFacts
    /// nil unless both arms have two users with matured messages.
    package let comparison: ArmComparison?
    /// Whether the sizes of the arms agree with the share of the run, on all days.
    package let alarm: SampleRatioAlarm
    package let decision: ExperimentDecision
    /// One for each day on which windows matured, but at most `looksMax`; in ascending order.
    package let looks: [Look]
    /// What people did when they opened messages, by hour; nil if no user shares a context.
    package var contexts: ContextMap?
    /// How the model that phones have fits what happened; nil if it cannot be read.
    package var modelCheck: ModelCheck?
    private let totals: [Arm: ExperimentSums]

    /// The experiment as it was at the end of a day.
    package struct Look: Sendable, Hashable {
        package let at: Timestamp
        /// In opens per message.
        package let difference: Double
        /// Valid at all looks together.
        package let interval: ClosedRange<Double>
        /// As a share of the traditional rate; nil without opens there.
        package let lift: Lift?
    }

    /// The gain of good moments as a share of the traditional rate.
    package struct Lift: Sendable, Hashable {
        package let value: Double
        /// Valid at all looks together.
        package let interval: ClosedRange<Double>

        fileprivate init?(_ comparison: ArmComparison) {
            guard let interval = comparison.liftInterval() else { return nil }
            (value, self.interval) = (comparison.lift, interval)
        }
    }

    private static let looksMax = 60

    /// Reads each user's days once, in the order of days.
    package init(_ facts: ExperimentFacts) {
        var alarm = SampleRatioAlarm(share: facts.run.share)
        var looks: [Look] = []
        var last: ArmComparison?
        var course = ExperimentCourse(facts)
        let days = Set(Self.days(course.days))
        for day in course.days {
            course.advance(through: day)
            let (aware, plain) = (course.sums(.contextAware), course.sums(.traditional))
            // Every day: which days have looks changes, and an alarm must not end with a look.
            alarm.record(contextAware: Int(aware.users), traditional: Int(plain.users))
            guard days.contains(day) else { continue }
            last = ArmComparison(contextAware: ArmTotals(aware), traditional: ArmTotals(plain))
            if let last { looks.append(Self.look(last, day: day)) }
        }
        totals = [.contextAware: course.sums(.contextAware), .traditional: course.sums(.traditional)]
        comparison = last
        decision = last.map { ExperimentDecision($0, isRatioSound: !alarm.isRaised) } ?? .undecided
        self.alarm = alarm
        self.looks = looks
        self.facts = facts.withoutUsers
    }

    /// The days at whose ends to look, the last one always.
    private static func days(_ all: [Int64]) -> [Int64] {
        let step = max(1, (all.count + looksMax - 1) / looksMax)
        return all.enumerated().filter { (all.count - 1 - $0.offset).isMultiple(of: step) }.map(\.element)
    }

    private static func look(_ comparison: ArmComparison, day: Int64) -> Look {
        Look(
            at: Timestamp(milliseconds: (day + 1) * 86_400_000), difference: comparison.difference,
            interval: comparison.interval(), lift: Lift(comparison))
    }

    /// nil without opens in the traditional arm.
    package var lift: Lift? { comparison.flatMap(Lift.init) }

    /// The share that the decision advises; nil while the experiment should continue as it is.
    package var advisedShare: Double? {
        facts.isOver ? nil : decision.shareAfterwards.flatMap { $0 == facts.run.share ? nil : $0 }
    }

    /// The result that is kept when the run's share changes.
    package var result: ShareChange.Result {
        ShareChange.Result(
            verdict: decision.rawValue,
            arms: Dictionary(
                uniqueKeysWithValues: Arm.allCases.map { arm in
                    let totals = totals(arm)
                    return (arm, ShareChange.Count(messages: totals.messages, opens: totals.opens))
                }),
            lift: lift?.value, liftInterval: lift?.interval)
    }

    /// The lift that `messagesNeeded` is about.
    package static let plannedLift = 0.2

    /// How many matured messages each arm needs until a lift of `plannedLift` would probably be found; nil while the
    /// rate is unknown.
    package var messagesNeeded: Int? {
        guard let arm = comparison?.traditional, arm.opens > 0, arm.opens < arm.messages else { return nil }
        return ExperimentDecision.messagesNeeded(
            rate: arm.rate, lift: Self.plannedLift, messagesPerUser: Double(arm.messages) / Double(arm.users))
    }

    /// What must not become worse because of good moments, in the order of `Guardrail.Measure`.
    package var guardrails: [Guardrail] { Guardrail.Measure.allCases.map { Guardrail($0, facts) } }

    /// The totals of one arm's users with matured messages.
    package func totals(_ arm: Arm) -> (users: Int, messages: Int, opens: Int) {
        let sums = totals[arm] ?? .init()
        return (Int(sums.users), Int(sums.messages), Int(sums.opens))
    }

    /// How many of the arm's messages took that way, matured or not.
    package func messages(_ arm: Arm, _ way: ExperimentFacts.Way) -> Int {
        facts.deliveries.filter { $0.arm == arm && $0.way == way }.reduce(0) { $0 + $1.messages }
    }

    /// The class of delays by which half of the arm's opens had happened; nil without opens.
    package func medianDelay(_ arm: Arm) -> Int? {
        let counts = delays(arm)
        let all = counts.reduce(0, +)
        guard all > 0 else { return nil }
        var sum = 0
        return counts.firstIndex { count in
            sum += count
            return 2 * sum >= all
        }
    }

    /// Opens of the arm in each class of delays.
    package func delays(_ arm: Arm) -> [Int] {
        (0...ExperimentFacts.delayLimits.count).map { index in
            facts.delays.filter { $0.arm == arm && $0.index == index }.reduce(0) { $0 + $1.opens }
        }
    }
}

extension ArmTotals {
    fileprivate init(_ sums: ExperimentSums) {
        self.init()
        (users, messages, opens) = (sums.users, sums.messages, sums.opens)
        (squaredMessages, products, squaredOpens) = (sums.squaredMessages, sums.products, sums.squaredOpens)
        (expected, squaredExpected) = (sums.expected, sums.squaredExpected)
        (expectedMessages, expectedOpens) = (sums.expectedMessages, sums.expectedOpens)
    }
}
