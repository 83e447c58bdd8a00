import PealCore
import Testing

@Suite("Moments")
struct MomentTransitionTests {
    private static let start = Timestamp(seconds: 1_795_219_200)
    private static let deadline = start + .seconds(3600)
    private static let phone = Moment.Target(device: 7, route: .apnsProduction)
    private static let tablet = Moment.Target(device: 8, route: .apnsProduction)
    private static let claimID = ClaimID(high: 1, low: 1)

    private static func open(_ arm: Arm = .contextAware) -> Moment {
        let window = DeliveryWindow(until: deadline, method: .experiment, holdSeconds: 10)
        return Moment(
            app: 1, message: MessageID(high: 1, low: 2), userID: "ann", terms: window.terms(arm, now: start),
            route: .apnsProduction, hadSDK: true)
    }

    private static func claim(
        _ target: Moment.Target = phone, id: ClaimID = claimID, rev: Int64 = 1, hasLedger: Bool = true
    ) -> MomentEvent {
        .claim(MomentClaim(id: id, target: target, rev: rev, hasLedger: hasLedger))
    }

    /// The moment after all of `events`, each at its time in seconds.
    private static func after(_ events: [(MomentEvent, Int64)], arm: Arm = .contextAware) -> Moment {
        events.reduce(open(arm)) { $0.after($1.0, at: start + .seconds($1.1)).moment }
    }

    private static let competitions: [([(MomentEvent, Int64)], Moment.State)] = [
        ([(claim(), 5)], Moment.State.claimed), ([(.fallback(to: phone), 3600)], .sending),
        ([(.cancel, 5)], .cancelled),
        ([(.fallback(to: nil), 3600)], .failed), ([(.fallback(to: phone), 5)], .open),
        ([(.cancel, 5), (claim(), 6)], .cancelled), ([(.cancel, 5), (.fallback(to: phone), 3600)], .cancelled),
        ([(claim(), 5), (.cancel, 6)], .claimed), ([(claim(), 5), (.fallback(to: phone), 3600)], .claimed),
        ([(.fallback(to: phone), 3600), (.cancel, 3601)], .sending),
        ([(.fallback(to: phone), 3600), (claim(), 3601)], .sending),
        ([(claim(), 5), (claim(tablet, id: ClaimID(high: 2, low: 2)), 6)], .claimed),
    ]

    private static let courses: [([(MomentEvent, Int64)], Moment.State)] = [
        ([(claim(), 5), (.receipt(.shown, device: 7), 9)], Moment.State.shown),
        ([(claim(), 5), (.receipt(.shown, device: 8), 9)], .claimed),
        ([(claim(), 5), (.receipt(.opened, device: 7), 9)], .opened),
        ([(claim(), 5), (.claimEnded(.user), 604)], .claimed),
        ([(claim(), 5), (.claimEnded(.user), 605)], .recovering),
        ([(claim(hasLedger: false), 5), (.claimEnded(.user), 605)], .claimed),
        ([(claim(), 5), (.claimEnded(.another), 605)], .claimed),
        ([(claim(), 5), (.claimEnded(.another), 90_000)], .failed),
        ([(claim(), 5), (.claimEnded(.gone), 605)], .failed), ([(claim(), 5), (.claimEnded(.gone), 604)], .claimed),
        ([(claim(hasLedger: false), 5), (claim(hasLedger: false), 89_000), (.claimEnded(.user), 89_500)], .claimed),
        ([(claim(), 5), (.cancel, 6), (.claimEnded(.user), 605)], .claimed),
        ([(claim(hasLedger: false), 5), (.claimEnded(.user), 90_000)], .failed),
        ([(claim(), 5), (.claimEnded(.user), 605), (.settled(.accepted, reason: "", next: nil), 606)], .sent),
        (
            [(claim(), 5), (.claimEnded(.user), 605), (.settled(.retired, reason: "Unregistered", next: tablet), 606)],
            .failed
        ),
        ([(claim(), 5), (.claimEnded(.user), 605), (.receipt(.shown, device: 7), 606)], .shown),
        ([(.fallback(to: phone), 3600), (.settled(.accepted, reason: "", next: nil), 3601)], .sent),
        ([(.fallback(to: phone), 3600), (.settled(.moved, reason: "", next: nil), 3601)], .sending),
        ([(.fallback(to: phone), 3600), (.settled(.retired, reason: "x", next: tablet), 3601)], .sending),
        ([(.fallback(to: phone), 3600), (.settled(.retired, reason: "x", next: nil), 3601)], .failed),
        ([(.fallback(to: phone), 3600), (.settled(.rejected, reason: "x", next: tablet), 3601)], .sending),
        ([(.fallback(to: phone), 3600), (.settled(.rejected, reason: "GaveUp", next: tablet), 3601)], .failed),
        ([(.fallback(to: phone), 3600), (.settled(.rejected, reason: "LostAnswer", next: tablet), 3601)], .failed),
        (
            [(.fallback(to: phone), 3600), (.settled(.suppressed, reason: "NoCredential", next: tablet), 3601)],
            .sending
        ),
        ([(.fallback(to: phone), 3600), (.settled(.suppressed, reason: "Cancelled", next: tablet), 3601)], .failed),
        ([(.fallback(to: phone), 3600), (.settled(.expired, reason: "Expired", next: tablet), 3601)], .failed),
        ([(.fallback(to: phone), 3600), (.receipt(.shown, device: 7), 3601)], .shown),
        ([(.receipt(.shown, device: 7), 5)], .open),
        ([(.quiet(until: start + .seconds(9000)), 3600), (.fallback(to: phone), 3601)], .sending),
    ]

    @Test("quiet hours delay a fallback to their end or the window's, and a claim, a change or the alert forgets them")
    func quietHours() {
        var moment = Self.open(.traditional)
        func quiet(_ until: Int64, at now: Int64) -> Moment {
            moment.after(.quiet(until: Self.start + .seconds(until)), at: Self.start + .seconds(now)).moment
        }
        #expect(quiet(900, at: 9) == moment, "it is not due")
        #expect(quiet(900, at: 3600) == moment, "the window has ended")
        #expect(quiet(9000, at: 10).fallbackAt == Self.deadline)
        moment = quiet(900, at: 10)
        #expect(moment.fallbackAt == Self.start + .seconds(900) && moment.reason == "QuietHours")
        #expect(moment.state == .open && moment.rev == 1)
        let sent = moment.after(.fallback(to: Self.phone), at: Self.start + .seconds(900)).moment
        #expect(sent.state == .sending && sent.reason.isEmpty)
    }

    private static let unheard: [(MomentEvent, [(MomentEvent, Int64)], Int64, MomentClaim.Refusal)] = [
        (claim(rev: 2), [], 5, MomentClaim.Refusal.superseded), (claim(), [(.cancel, 1)], 5, .cancelled),
        (claim(tablet), [(claim(), 1)], 5, .claimed),
        (claim(id: ClaimID(high: 9, low: 9)), [(claim(), 1)], 5, .claimed),
        (claim(), [], 3600, .expired), (claim(), [(.fallback(to: phone), 3600)], 3601, .fallback),
        (claim(), [(claim(), 5), (.receipt(.shown, device: 7), 6)], 7, .closed),
        (claim(), [(claim(), 5)], 605, .fallback), (claim(), [(.fallback(to: nil), 3600)], 3601, .expired),
    ]

    @Test("one row serves every method: who may claim and when the server sends follow from the arm")
    func terms() {
        #expect(Self.open(.traditional).fallbackAt == Self.start + .seconds(10))
        #expect(!Self.open(.traditional).isClaimable)
        #expect(Self.open().fallbackAt == Self.deadline)
        #expect(Self.open().isClaimable)
        let short = DeliveryWindow(until: Self.start + .seconds(3), method: .traditional, holdSeconds: 10)
        #expect(short.terms(.traditional, now: Self.start).fallbackAt == Self.start + .milliseconds(1500))
        let over = DeliveryWindow(until: Self.start, method: .traditional, holdSeconds: 10)
        #expect(over.terms(.traditional, now: Self.start).fallbackAt == Self.start)
    }

    @Test(
        "the competitors for an open moment end it, and nothing else follows",
        arguments: competitions)
    func oneWinner(events: [(MomentEvent, Int64)], state: Moment.State) {
        #expect(Self.after(events).state == state)
    }

    @Test(
        "what is in progress ends as documented",
        arguments: courses)
    func ends(events: [(MomentEvent, Int64)], state: Moment.State) {
        #expect(Self.after(events).state == state)
    }

    @Test(
        "a refused claim has a reason",
        arguments: unheard)
    func refusals(wish: MomentEvent, before: [(MomentEvent, Int64)], at: Int64, refusal: MomentClaim.Refusal) {
        let moment = Self.after(before)
        let step = moment.after(wish, at: Self.start + .seconds(at))
        #expect(step.refusal == refusal)
        #expect(step.moment == moment)
    }

    @Test("a repeated claim gets the same answer, and a traditional message cannot be claimed")
    func again() {
        let first = Self.open().after(Self.claim(), at: Self.start)
        let second = first.moment.after(Self.claim(), at: Self.start + .seconds(60))
        #expect(first.refusal == nil && second.refusal == nil)
        #expect(first.moment == second.moment)
        #expect(second.notices.isEmpty)
        #expect(Self.open(.traditional).after(Self.claim(), at: Self.start).refusal == .closed)
    }

    @Test("a replacement invalidates stale claims, and only an open moment is replaced")
    func supersede() {
        let terms = DeliveryWindow(until: Self.start + .seconds(99), method: .traditional).terms(
            .traditional, now: Self.start)
        let changed = Self.open().after(.supersede(terms), at: Self.start).moment
        #expect(changed.rev == 2 && changed.deadline == Self.start + .seconds(99) && !changed.isClaimable)
        let sent = Self.after([(.fallback(to: Self.phone), 3600)])
        #expect(sent.after(.supersede(terms), at: Self.start).moment == sent)
    }

    @Test("a replacement renews what is known of the user")
    func outlook() {
        let terms = DeliveryWindow(until: Self.start + .seconds(99), method: .contextAware).terms(
            .contextAware, now: Self.start)
        let outlook = Moment.Outlook(route: .fcm, hasSDK: false, exploration: .uniform)
        let changed = Self.open().after(.supersede(terms, outlook: outlook), at: Self.start).moment
        #expect(changed.route == .fcm && !changed.hadSDK && changed.exploration == .uniform)
    }

    @Test("a user without a device is waited for until the window ends")
    func awaitsDevice() {
        let waiting = Self.after([(.fallback(to: nil), 10)], arm: .traditional)
        #expect(waiting.state == .open && waiting.awaitsDevice && waiting.fallbackAt == Self.deadline)
        let woken = waiting.after(.registered, at: Self.start + .seconds(100)).moment
        #expect(woken.fallbackAt == Self.start + .seconds(100) && !woken.awaitsDevice)
        #expect(Self.open().after(.registered, at: Self.start).moment == Self.open())
        let night = Self.after([(.quiet(until: Self.start + .seconds(900)), 10)], arm: .traditional)
        let morning = night.after(.fallback(to: nil), at: Self.start + .seconds(900)).moment
        #expect(morning.awaitsDevice && morning.reason.isEmpty, "it waits for a device, not for the hours")
    }

    @Test("each device is reported to authors, also one that shows it after its claim won")
    func notices() {
        let next = Self.after([(.fallback(to: Self.phone), 3600)])
            .after(.settled(.retired, reason: "Unregistered", next: Self.tablet), at: Self.deadline)
        #expect(next.notices.isEmpty)
        #expect(next.alerts == [Self.tablet] && next.moment.tried == [7, 8])
        let shown = Self.after([(Self.claim(), 5)]).after(.receipt(.shown, device: 7), at: Self.deadline)
        #expect(shown.notices == [.init(status: .delivered, device: 7)])
        #expect(shown.moment.deliveryArm == .contextAware)
        #expect(next.moment.deliveryArm == .traditional)
        let cancelled = Self.open().after(.cancel, at: Self.start)
        #expect(cancelled.notices == [.init(status: .cancelled, device: nil)])
    }

    @Test("a repeated claim gets more time without a ledger, and the same answer with one")
    func repeatedClaim() {
        let (early, late) = (Self.start + .seconds(5), Self.start + .seconds(500))
        for hasLedger in [true, false] {
            let request = Self.claim(hasLedger: hasLedger)
            let first = Self.open().after(request, at: early).moment
            let again = first.after(request, at: late)
            #expect(again.refusal == nil)
            #expect(again.moment.claim?.until == (hasLedger ? early : late) + .seconds(600))
        }
        let claimed = Self.open().after(Self.claim(), at: early).moment
        let ended = Self.start + .seconds(700)
        #expect(claimed.after(Self.claim(), at: ended).refusal == .fallback)
        #expect(claimed.after(.cancel, at: late).moment.after(Self.claim(), at: ended).refusal == .cancelled)
        #expect(claimed.after(Self.claim(), at: claimed.givenUpAt).refusal == .expired)
    }

    @Test("a failure is reported for every device once none is left, and never before a delivery")
    func failures() {
        let second = Self.after([(.fallback(to: Self.phone), 3600)])
            .after(.settled(.retired, reason: "Unregistered", next: Self.tablet), at: Self.deadline)
        let failed = second.moment.after(.settled(.retired, reason: "Unregistered", next: nil), at: Self.deadline)
        #expect(failed.moment.state == .failed)
        #expect(failed.notices == [.init(status: .failed, device: 7), .init(status: .failed, device: 8)])
        let delivered = second.moment.after(.settled(.accepted, reason: "", next: nil), at: Self.deadline)
        #expect(delivered.notices == [.init(status: .delivered, device: 8)])
    }

    private static func toAll(_ outcomes: [(Moment.Target, Outcome)]) -> MomentStep {
        let start = Self.open().after(.fallbackToAll([Self.phone, Self.tablet]), at: Self.deadline)
        return outcomes.reduce(start) { step, end in
            var next = step.moment.after(.settledOne(end.0, end.1, reason: "r"), at: Self.deadline)
            next.notices = step.notices + next.notices
            return next
        }
    }

    @Test("alerts to all devices end together: delivered on each that accepts, failed if none does")
    func allDevices() {
        let start = Self.toAll([])
        #expect(Set(start.alerts) == [Self.phone, Self.tablet] && start.moment.device == Self.phone.device)
        #expect(start.moment.waiting == [7, 8])
        let half = Self.toAll([(Self.phone, .retired)])
        #expect(half.moment.state == .sending && half.notices.isEmpty)
        let mixed = Self.toAll([(Self.phone, .retired), (Self.tablet, .accepted)])
        #expect(mixed.moment.state == .sent && mixed.moment.device == 8 && mixed.moment.outcome == .accepted)
        #expect(mixed.notices == [.init(status: .delivered, device: 8)])
        let both = Self.toAll([(Self.tablet, .accepted), (Self.phone, .accepted)])
        #expect(both.notices == [.init(status: .delivered, device: 8), .init(status: .delivered, device: 7)])
        let none = Self.toAll([(Self.phone, .retired), (Self.tablet, .expired)])
        #expect(none.moment.state == .failed && none.moment.outcome == .expired)
        #expect(Set(none.notices.map(\.device)) == [7, 8] && none.notices.allSatisfy { $0.status == .failed })
        let again = mixed.moment.after(.settledOne(Self.tablet, .accepted, reason: ""), at: Self.deadline)
        #expect(again.moment == mixed.moment && again.notices.isEmpty)
        // Each of the devices may report that it was opened.
        let opened = mixed.moment.after(.receipt(.opened, device: 7), at: Self.deadline)
        #expect(opened.moment.state == .opened)
        let openedToo = opened.moment.after(.receipt(.opened, device: 8), at: Self.deadline)
        #expect(openedToo.moment == opened.moment && openedToo.notices == [.init(status: .opened, device: 8)])
        let only = Self.open().after(.fallbackToAll([Self.phone]), at: Self.deadline)
        #expect(only.moment.waiting == nil && only.alerts == [Self.phone])
        let nobody = Self.open().after(.fallbackToAll([]), at: Self.deadline)
        #expect(nobody.moment.state == .failed)
    }

    @Test("a request repeats another with the same body for a day")
    func repetition() {
        var moment = Self.open()
        let first = Moment.Request(digest: [1], at: Self.start)
        func isRepeated(_ digest: UInt8, after seconds: Int64) -> Bool {
            moment.isRepeated(by: Moment.Request(digest: [digest], at: Self.start + .seconds(seconds)))
        }
        #expect(isRepeated(1, after: 0) == false)
        moment.request = first
        #expect(isRepeated(1, after: 86_399))
        #expect(isRepeated(1, after: 86_400) == false)
        #expect(isRepeated(2, after: 0) == false)
        #expect(moment.isRepeated(by: nil) == false)
    }

    @Test("every transition is a documented one", arguments: Moment.State.allCases)
    func arrows(state: Moment.State) {
        let terms = DeliveryWindow(until: Self.deadline, method: .traditional).terms(.traditional, now: Self.start)
        let events: [MomentEvent] = [
            .supersede(terms), .cancel, Self.claim(), .fallback(to: Self.phone), .fallback(to: nil), .registered,
            .claimEnded(.user), .claimEnded(.another), .claimEnded(.gone), .settled(.accepted, reason: "", next: nil),
            .settled(.retired, reason: "", next: Self.tablet),
            .settled(.retired, reason: "", next: nil), .receipt(.shown, device: 7), .receipt(.opened, device: 7),
            .receipt(.dismissed, device: 7),
        ]
        var moment = Self.open()
        moment.state = state
        moment.device = 7
        moment.claim = .init(id: Self.claimID, until: Self.start, hasLedger: true)
        for event in events {
            for seconds: Int64 in [0, 3600, 100_000] {
                let next = moment.after(event, at: Self.start + .seconds(seconds)).moment.state
                #expect(next == state || state.successors.contains(next), "\(event) led to \(next)")
            }
        }
    }
}
