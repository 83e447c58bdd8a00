import PealCore
import Testing

@Suite("Slow results")
struct SlowResultsTests {
    @Test(
        "are fresh in proportion to the time that they took, and shown for ten minutes",
        arguments: [
            (0.01, 9.0, true), (0.01, 11, false), (0.01, 599, false), (0.01, 601, nil), (2, 39, true), (2, 41, false),
            (60, 599, true), (60, 601, nil),
        ] as [(Double, Double, Bool?)])
    func fresh(cost: Double, age: Double, isFresh: Bool?) {
        var results = SlowResults<String, Int>(ageFactor: 20, countMax: 2)
        results.keep(7, for: "a", from: .zero, to: .seconds(cost))
        let recent = results.recent("a", at: .seconds(cost + age))
        #expect(recent?.isFresh == isFresh)
        #expect(recent.map(\.value) == isFresh.map { _ in 7 })
        #expect(recent.map(\.cost) == isFresh.map { _ in .seconds(cost) })
    }

    @Test("make room for new ones: the oldest is dropped")
    func room() {
        var results = SlowResults<String, Int>(ageFactor: 20, countMax: 2)
        for (index, name) in ["a", "b", "c"].enumerated() {
            results.keep(index, for: name, from: .zero, to: .seconds(1 + index))
        }
        let names = ["a", "b", "c"].filter { results.recent($0, at: .seconds(4)) != nil }
        #expect(names == ["b", "c"])
        results.remove("b")
        #expect(results.recent("b", at: .seconds(4)) == nil)
    }
}
