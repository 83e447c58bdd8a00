import PealCore
import Testing

@Suite("Answers and counts") struct VerdictTests {
    @Test("every outcome counts in exactly one of the six counts, and moved in none", arguments: Outcome.allCases)
    func counts(outcome: Outcome) {
        var counts = OutcomeCounts()
        counts.count(outcome, 3, reason: "Why")
        #expect(counts.settled == (outcome == .moved ? 0 : 3))
        #expect(counts.devices == counts.settled)
        #expect(counts.reasons == (outcome == .moved ? [:] : ["Why": 3]))
    }

    @Test("adding counts adds every part")
    func addition() {
        var sum = OutcomeCounts()
        for (number, outcome) in Outcome.allCases.enumerated() {
            sum.count(outcome, number + 1, reason: "R\(number % 2)")
        }
        sum.pending = 7
        let one = sum
        sum.add(one)
        #expect(sum.settled == 2 * one.settled && sum.pending == 14 && sum.devices == sum.settled + 14)
        #expect(sum.reasons["R0"] == 2 * (one.reasons["R0"] ?? 0))
    }

    @Test("an acceptance is the same however it was made; another status or reason is another answer")
    func answers() {
        #expect(ProviderAnswer(.verdict(.accepted), reason: "", status: 200) == .accepted)
        #expect(ProviderAnswer(.verdict(.accepted), reason: "", status: 201) != .accepted)
        #expect(ProviderAnswer(.lost, reason: "ConnectionLost") != ProviderAnswer(.unsent, reason: "ConnectionLost"))
        #expect(Verdict.retry(after: nil) != .retry(after: .zero))
        #expect(
            Verdict.retireAddress(since: nil, isSuspicious: true) != .retireAddress(since: nil, isSuspicious: false))
    }

    @Test("the stored numbers of outcomes never change")
    func stored() {
        #expect(Outcome.allCases.map(\.rawValue) == [0, 1, 2, 3, 4, 5])
        #expect(Outcome.allCases.map(\.name) == ["accepted", "rejected", "retired", "expired", "suppressed", "moved"])
    }
}
