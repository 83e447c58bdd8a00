import PealCore
import Testing

@Suite("Exploration")
struct ExplorationTests {
    private static func message(_ number: Int) -> MessageID { MessageID(high: 1, low: UInt64(number)) }

    @Test("live messages have their shares, and the same message of a user always has the same mode")
    func shares() {
        var counts: [Exploration: Int] = [:]
        for number in 0..<20_000 {
            let mode = Exploration(of: Self.message(number), userID: "ann", in: .live)
            #expect(mode == Exploration(of: Self.message(number), userID: "ann", in: .live))
            counts[mode, default: 0] += 1
        }
        #expect((3800...4200).contains(counts[.soft] ?? 0))
        #expect((330...470).contains(counts[.uniform] ?? 0))
        #expect(Exploration(of: Self.message(1), userID: "ann", in: .calibrating) == .uniform)
    }

    @Test("users of one message are assigned independently")
    func users() {
        let modes = (0..<1000).map { Exploration(of: Self.message(1), userID: "u\($0)", in: .live) }
        #expect((150...250).contains(modes.count { $0 == .soft }))
        #expect(Set((0..<1000).map { Exploration.salt(of: "u\($0)") }).count == 1000)
        #expect(Exploration.salt(of: "ann").count == 16)
    }

    @Test(
        "campaigns calibrate as long as they must",
        arguments: [
            (6, false, 0, 0, CampaignPhase.calibrating), (6, false, 1999, 99, .calibrating),
            (6, false, 2000, 0, .live), (6, false, 500, 100, .live), (6, true, 0, 0, .live), (8, true, 0, 0, .live),
            (12, true, 499, 80, .calibrating), (12, true, 500, 0, .live), (12, false, 400, 100, .calibrating),
        ])
    func phases(hours: Int64, hasPrior: Bool, displays: Int, opens: Int, phase: CampaignPhase) {
        let window: Duration = .seconds(hours * 3600)
        #expect(CampaignPhase(window: window, hasPrior: hasPrior, displays: displays, opens: opens) == phase)
    }
}
