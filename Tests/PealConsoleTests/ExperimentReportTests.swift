import PealCore
import PealExperiments
import PealMomentTraining
import Testing

@Suite("An experiment's report") struct ExperimentReportTests {
    /// `count` users of an arm with a message on each of `days`, of which every `period`th is opened.
    private static func users(_ arm: Arm, _ count: Int, days: Int64, period: Int) -> [ExperimentFacts.User] {
        (0..<count).map { user in
            ExperimentFacts.User(
                arm: arm,
                days: (0..<days).map { day in
                    .init(number: 20_000 + day, messages: 1, opens: (user + Int(day)).isMultiple(of: period) ? 1 : 0)
                })
        }
    }

    private static func report(_ users: [ExperimentFacts.User], share: Double = 0.5) -> ExperimentReport {
        ExperimentReport(
            ExperimentFacts(salt: "s", startedAt: Timestamp(milliseconds: 0), users: users), share: share)
    }

    @Test("has one look a day, the last of which is the present state")
    func looks() throws {
        let report = Self.report(
            Self.users(.contextAware, 500, days: 10, period: 4) + Self.users(.traditional, 500, days: 10, period: 10))
        #expect(report.looks.count == 10 && report.decision == .promote && !report.alarm.isRaised)
        let last = try #require(report.looks.last)
        #expect(last.at == Timestamp(milliseconds: 20_010 * 86_400_000))
        #expect(last.difference == report.comparison?.difference)
        #expect(last.interval == report.comparison?.interval())
        let (first, width) = (report.looks[0].interval, last.interval.upperBound - last.interval.lowerBound)
        #expect(first.upperBound - first.lowerBound > width, "more messages narrow the band")
        #expect(abs((report.lift?.value ?? 0) - 1.5) < 0.1)
        #expect(report.totals(.contextAware).messages == 5000)
    }

    @Test("looks at most 60 times, and at the last day always")
    func manyDays() {
        let report = Self.report(
            Self.users(.contextAware, 10, days: 365, period: 4) + Self.users(.traditional, 10, days: 365, period: 4))
        #expect((30...60).contains(report.looks.count))
        #expect(report.looks.last?.at == Timestamp(milliseconds: 20_365 * 86_400_000))
    }

    @Test("raises the alarm about arms of the wrong size, and decides nothing then")
    func alarm() {
        let report = Self.report(
            Self.users(.contextAware, 900, days: 2, period: 2) + Self.users(.traditional, 300, days: 2, period: 9))
        #expect(report.alarm.isRaised && report.decision == .untrustworthy)
    }

    @Test("says nothing without messages that count, and no lift without opens")
    func empty() {
        let nothing = Self.report([])
        #expect(nothing.comparison == nil && nothing.looks.isEmpty && nothing.decision == .undecided)
        #expect(nothing.lift == nil && nothing.messagesNeeded == nil)
        let unopened = Self.report(
            [.contextAware, .traditional].flatMap { arm in
                (0..<5).map { _ in
                    ExperimentFacts.User(arm: arm, days: [.init(number: 1, messages: 1, opens: 0)])
                }
            })
        #expect(unopened.comparison != nil && unopened.lift == nil && unopened.messagesNeeded == nil)
        let one = Self.report([
            ExperimentFacts.User(arm: .contextAware, days: [.init(number: 1, messages: 1, opens: 1)])
        ])
        #expect(one.looks.isEmpty && one.alarm.contextAware == 1)
    }

    @Test(
        "counts a message by what became of it",
        arguments: [
            (Moment.State.open, false, true, ExperimentFacts.Way.pending), (.claimed, true, true, .pending),
            (.sent, false, true, .server), (.opened, true, true, .phone), (.opened, false, true, .server),
            (.cancelled, false, true, .cancelled), (.failed, true, true, .failed), (.sent, false, false, .noDevice),
        ])
    func ways(_ state: Moment.State, _ isClaimed: Bool, _ hadDevice: Bool, _ way: ExperimentFacts.Way) {
        #expect(ExperimentFacts.Way(state, isClaimed: isClaimed, hadDevice: hadDevice) == way)
    }
}
