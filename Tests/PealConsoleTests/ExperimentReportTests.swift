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
            ExperimentFacts(
                ExperimentRun(salt: "s", share: share, startedAt: Timestamp(milliseconds: 0)), users: users))
    }

    @Test("has one look a day, the last of which is the current state")
    func looks() throws {
        let report = Self.report(
            Self.users(.contextAware, 500, days: 10, period: 4) + Self.users(.traditional, 500, days: 10, period: 10))
        #expect(report.looks.count == 10 && report.decision == .promote && !report.alarm.isRaised)
        let last = try #require(report.looks.last)
        #expect(last.at == Timestamp(milliseconds: 20_010 * 86_400_000))
        #expect(last.difference == report.comparison?.difference)
        #expect(last.interval == report.comparison?.interval() && last.lift == report.lift)
        let (first, width) = (report.looks[0].interval, last.interval.upperBound - last.interval.lowerBound)
        #expect(first.upperBound - first.lowerBound > width, "more messages narrow the band")
        #expect(abs((report.lift?.value ?? 0) - 1.5) < 0.1)
        #expect(report.totals(.contextAware).messages == 5000)
    }

    @Test("looks at most 60 times, and always at the last day")
    func manyDays() {
        let report = Self.report(
            Self.users(.contextAware, 10, days: 365, period: 4) + Self.users(.traditional, 10, days: 365, period: 4))
        #expect((30...60).contains(report.looks.count))
        #expect(report.looks.last?.at == Timestamp(milliseconds: 20_365 * 86_400_000))
    }

    @Test("is the same whichever messages are in the sums, at every look", arguments: [1, 4, 8, 10] as [Int64])
    func summed(days: Int64) throws {
        // Users begin on different days, some with several messages a day, and some stop early.
        let users = (0..<60).map { user in
            let (first, last) = (Int64(user / 2 % 4), user % 7 == 0 ? 5 : Int64(9))
            return ExperimentFacts.User(
                arm: user % 2 == 0 ? .contextAware : .traditional,
                days: (first...last).map { day in
                    .init(number: 20_000 + day, messages: 1 + user % 3, opens: (user * 7 + Int(day)) % 5 == 0 ? 1 : 0)
                }, past: .init(prior: Int64(user % 5) * 20 - 40))
        }
        let whole = Self.report(users)
        func total(_ user: ExperimentFacts.User, through day: Int64) -> ExperimentSums.User {
            var sum = user.past
            for entry in user.days where entry.number <= day {
                sum.messages += Int64(entry.messages)
                sum.opens += Int64(entry.opens)
            }
            return sum
        }
        let end = 20_000 + days - 1
        var facts = ExperimentFacts(
            whole.facts.run,
            users: users.compactMap { user in
                let rest = user.days.filter { $0.number > end }
                return rest.isEmpty ? nil : .init(arm: user.arm, days: rest, past: total(user, through: end))
            })
        for day in 20_000...end {
            for arm in Arm.allCases {
                var sums = ExperimentSums()
                for user in users where user.arm == arm { sums.add(total(user, through: day)) }
                facts.past.append(.init(day: day, arm: arm, sums: sums))
            }
        }
        let report = ExperimentReport(facts)
        #expect(report.comparison == whole.comparison && report.looks == whole.looks && whole.looks.count == 10)
        #expect(report.alarm == whole.alarm && report.decision == whole.decision)
        for arm in Arm.allCases { #expect(report.totals(arm) == whole.totals(arm)) }
    }

    @Test("warns about arms of the wrong size, and decides nothing then")
    func alarm() {
        let report = Self.report(
            Self.users(.contextAware, 900, days: 2, period: 2) + Self.users(.traditional, 300, days: 2, period: 9))
        #expect(report.alarm.isRaised && report.decision == .untrustworthy)
    }

    @Test("keeps a warning from a day without a look")
    func alarmBetweenLooks() {
        let late = (0..<400).map { _ in
            ExperimentFacts.User(arm: .traditional, days: [.init(number: 20_001, messages: 1, opens: 0)])
        }
        let report = Self.report(Self.users(.contextAware, 400, days: 122, period: 4) + late)
        #expect(report.looks.first?.at == Timestamp(milliseconds: 20_002 * 86_400_000), "the second day is the first")
        #expect(report.alarm.isRaised && report.decision == .untrustworthy)
    }

    @Test("has no result without messages that count, and no lift without opens")
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

    @Test("computes its guardrails from all messages and people")
    func guardrails() {
        var facts = ExperimentFacts(
            ExperimentRun(salt: "s", share: 0.5, startedAt: Timestamp(milliseconds: 0)), users: [])
        facts.deliveries = [
            .init(arm: .contextAware, way: .phone, messages: 70), .init(arm: .contextAware, way: .server, messages: 20),
            .init(arm: .contextAware, way: .failed, messages: 10),
            .init(arm: .contextAware, way: .noDevice, messages: 9),
        ]
        var guards = ExperimentFacts.Guards()
        let ann = MessageCases.User(failed: 4, delivered: 30, dismissed: 9, observed: 30, withoutSession: 5)
        guards.messages.add(ann, to: .init())
        guards.messages.add(.init(failed: 6, delivered: 60), to: ann)
        guards.removed.add(cases: 3, of: 50)
        guards.muted.add(cases: 4, of: 40)
        facts.guards[.contextAware] = guards
        facts.delays = [
            .init(arm: .contextAware, index: 0, opens: 2), .init(arm: .contextAware, index: 3, opens: 3),
            .init(arm: .contextAware, index: 5, opens: 1),
        ]
        let report = ExperimentReport(facts)
        let counts = report.guardrails.map {
            "\($0.measure.rawValue) \($0.contextAware.cases)/\($0.contextAware.occasions)"
        }
        #expect(
            counts == [
                "failed 10/100", "dismissed 9/90", "no_session 5/30", "app_removed 3/50", "notifications_off 4/40",
            ])
        #expect(report.guardrails.allSatisfy { $0.contextAware.users == 1 && $0.difference == nil && !$0.isWorse })
        #expect(report.medianDelay(.contextAware) == 3 && report.medianDelay(.traditional) == nil)
    }

    /// A context of a display as a phone encodes it, with the flags of an unlocked phone, a vehicle and walking.
    private static func label(minute: Int, flags: UInt8, isOpened: Bool) -> MomentLabel {
        var bytes = [UInt8](repeating: 0, count: 16)
        bytes[0] = 2
        (bytes[1], bytes[2]) = (UInt8(minute & 0xFF), UInt8(minute >> 8))
        bytes[11] = flags
        return MomentLabel(
            campaign: "c", snapshot: bytes, exploration: .greedy, shownAt: Timestamp(milliseconds: 0),
            isOpened: isOpened)
    }

    @Test("maps displays by activity and hour, and leaves out contexts that it cannot read")
    func contexts() {
        let (unlocked, vehicle, walking): (UInt8, UInt8, UInt8) = (0b10, 0b10_0010, 0b1000_0010)
        var labels = [0, 179, 180, 719, 720, 1439].map { Self.label(minute: $0, flags: unlocked, isOpened: $0 == 180) }
        labels.append(Self.label(minute: 600, flags: vehicle, isOpened: false))
        labels.append(Self.label(minute: 600, flags: walking, isOpened: true))
        labels.append(Self.label(minute: 600, flags: 0, isOpened: false))
        labels.append(Self.label(minute: 1440, flags: unlocked, isOpened: false))
        let map = ContextMap(labels)
        #expect(map.displays == 9)
        #expect(map.row(.usingPhone).map(\.displays) == [2, 1, 0, 1, 1, 0, 0, 1])
        #expect(map.row(.usingPhone)[1].opens == 1 && map.row(.walking)[3].opens == 1)
        #expect(map.row(.vehicle)[3].displays == 1 && map.row(.resting)[3].displays == 1)
        #expect(!map.row(.resting)[3].isKnown)
    }

    @Test(
        "counts a message by what became of it",
        arguments: [
            (Moment.State.open, false, true, ExperimentFacts.Way.pending), (.claimed, true, true, .pending),
            (.sent, false, true, .server), (.opened, true, true, .phone), (.opened, false, true, .server),
            (.cancelled, false, true, .cancelled), (.failed, true, true, .failed), (.sent, false, false, .noDevice),
        ])
    func ways(_ state: Moment.State, _ isClaimed: Bool, _ hadSDK: Bool, _ way: ExperimentFacts.Way) {
        #expect(ExperimentFacts.Way(state, isClaimed: isClaimed, hadSDK: hadSDK) == way)
    }
}
