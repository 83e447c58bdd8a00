import Testing

@testable import PealLab

@Suite("Lifecycles on the real store")
struct LifecycleTests {
    @Test(
        "no message alerts twice, appears after its cancellation or outdated, reaches another person, or is forgotten",
        .timeLimit(.minutes(5)))
    func sound() async throws {
        let totals = try await LifecycleRun(count: 600, seed: 3).run()
        #expect(totals.isSound, "\(totals.report)")
        #expect(totals.count == 600)
        for trouble in [
            "packets lost", "packets doubled", "claims granted", "claims refused", "cancelled", "cancelled too late",
            "replaced", "alerts", "crashes in intent", "crashes after the display", "server crashes",
            "phones that changed hands", "ended as shown", "ended as opened", "ended as cancelled",
        ] { #expect(totals.seen[trouble] ?? 0 > 0, "\(trouble) did not occur: \(totals.report)") }
    }

    @Test("the same seed repeats a run")
    func repeats() async throws {
        let (first, second) = (
            try await LifecycleRun(count: 50, seed: 9).run(), try await LifecycleRun(count: 50, seed: 9).run()
        )
        #expect(first == second)
    }
}
