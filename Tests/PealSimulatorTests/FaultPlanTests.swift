import Testing

@testable import PealSimulator

@Suite("The plan of faults")
struct FaultPlanTests {
    private func plan(_ yaml: String, seed: UInt64 = 1) throws -> FaultPlan {
        let plan = FaultPlan(seed: seed)
        plan.load(try FaultScript(yaml: yaml))
        return plan
    }

    /// Which of `count` requests, each to a different device, a fault affects.
    private func hits(_ plan: FaultPlan, _ count: Int, prefix: String = "") -> [Int] {
        (0..<count).filter { plan.decide(device: "\(prefix)\($0)", provider: .apns, environment: .production) != nil }
    }

    @Test("applies to the n-th request, to every n-th, and at most as often as stated")
    func counting() throws {
        #expect(hits(try plan("rules: [{match: {nth: 3}, status: 503}]"), 9) == [2])
        #expect(hits(try plan("rules: [{match: {every: 4}, status: 503}]"), 9) == [3, 7])
        #expect(hits(try plan("rules: [{times: 2, status: 503}]"), 9) == [0, 1])
        #expect(hits(try plan("rules: [{match: {device_prefix: AB, nth: 2}, status: 503}]"), 9, prefix: "ab") == [1])
        #expect(hits(try plan("rules: [{match: {device_prefix: ab}, status: 503}]"), 9, prefix: "cd") == [])
        #expect(hits(try plan("rules: [{match: {environment: sandbox}, status: 503}]"), 9) == [])
    }

    @Test("draws the same requests from the same seed, in whatever order they come")
    func rates() throws {
        let yaml = "rules: [{match: {rate: 0.1}, status: 503}]"
        let first = hits(try plan(yaml), 2_000)
        #expect((140...260).contains(first.count))
        #expect(hits(try plan(yaml), 2_000) == first)
        #expect(hits(try plan(yaml, seed: 2), 2_000) != first)
        #expect(hits(try plan("seed: 2\n" + yaml), 2_000) != first)
        let backwards = try plan(yaml)
        let met = (0..<2_000).reversed().filter {
            backwards.decide(device: "\($0)", provider: .apns, environment: .production) != nil
        }
        #expect(met.reversed() == first)
    }

    @Test("draws again for each attempt at a device")
    func attempts() throws {
        let plan = try plan("rules: [{match: {rate: 0.5}, status: 503}]")
        let met = (0..<200).count { _ in plan.decide(device: "a", provider: .apns, environment: .production) != nil }
        #expect((60...140).contains(met))
    }

    @Test("applies the fault of a device first, as often as stated, and then removes it")
    func devices() throws {
        let plan = try plan("rules: [{status: 500, reason: InternalServerError}]")
        try plan.set(try FaultSequence(["status": 410, "reason": "Unregistered"], path: ""), device: "a", times: 2)
        let answers = (0..<3).map { _ in plan.decide(device: "a", provider: .apns, environment: .production)?.action }
        let gone = FaultAction.answer(FaultAnswer(status: 410, reason: "Unregistered"))
        #expect(answers == [gone, gone, .answer(FaultAnswer(status: 500, reason: "InternalServerError"))])
        try plan.set(try FaultSequence(["action": "silence"], path: ""), device: "a", times: nil)
        #expect(plan.remove(device: "a"))
        #expect(!plan.remove(device: "a"))
        plan.clear()
        #expect(plan.decide(device: "a", provider: .apns, environment: .production) == nil)
        #expect(!plan.isActive)
    }

    @Test("reads every action")
    func actions() throws {
        let yaml = """
            rules:
              - {match: {nth: 1}, action: reset, code: 11}
              - {match: {nth: 1}, action: refuse, processed: true}
              - {match: {nth: 1}, action: goaway, reason: IdleTimeout}
              - {match: {nth: 1}, action: close}
              - {match: {nth: 1}, action: stream_limit, streams: 1}
              - {match: {nth: 1}, action: silence}
              - {match: {nth: 1}, delay_ms: 250}
            """
        let faults = try FaultScript(yaml: yaml).rules.compactMap { $0.faults.fault(0) }
        #expect(
            faults.map(\.action) == [
                .reset(code: 11), .refuse, .goAway(reason: "IdleTimeout"), .close, .streamLimit(1), .silence, .pass,
            ])
        #expect(faults[1].isDelivering && !faults[2].isDelivering && faults[4].isDelivering)
        #expect(faults[6].delayMilliseconds == 250)
    }

    @Test(
        "names what is wrong with a script",
        arguments: [
            ("[]", "script"), ("rules: 1", "rules"), ("rules: [1]", "rules[0]"), ("rulez: []", "rulez"),
            ("rules: [{match: {rate: 1.5}, status: 500}]", "rules[0].match.rate"),
            ("rules: [{match: {nth: 0}, status: 500}]", "rules[0].match.nth"),
            ("rules: [{match: {color: red}}]", "rules[0].match.color"), ("rules: [{status: 99}]", "rules[0].status"),
            ("rules: [{status: '500'}]", "rules[0].status"), ("rules: [{action: explode}]", "rules[0].action"),
            ("rules: [{action: answer}]", "rules[0].status"), ("rules: [{action: stream_limit}]", "rules[0].streams"),
            ("rules: [{statsu: 500}]", "rules[0].statsu"), ("rules: [{delay_ms: -1}]", "rules[0].delay_ms"),
            ("rules: [{", "script"), ("seed: -1\nrules: []", "seed"),
            ("rules: [{error_code: NONE}]", "rules[0].status"), ("rules: [{sequence: []}]", "rules[0].sequence"),
            ("rules: [{sequence: [{status: 1}]}]", "rules[0].sequence[0].status"),
            ("rules: [{sequence: [{stats: 1}]}]", "rules[0].sequence[0].stats"),
            ("rules: [{sequence: [{status: 500}], status: 500}]", "rules[0].status"),
            ("rules: [{status: 500, repeat: true}]", "rules[0].repeat"),
            ("rules: [{status: 500, headers: {a: 1}}]", "rules[0].headers.a"),
            ("rules: [{status: 500, retry_after: soon}]", "rules[0].retry_after"),
            ("rules: [{match: {provider: pigeon}, status: 500}]", "rules[0].match.provider"),
            ("rules: [{action: clock_skew}]", "rules[0].seconds"), ("clock_skew_seconds: x", "clock_skew_seconds"),
        ])
    func mistakes(yaml: String, field: String) throws {
        let error = try #require(throws: SimulatorError.self) { try FaultScript(yaml: yaml) }
        #expect(error.description.hasPrefix(field + ":"))
    }
}
