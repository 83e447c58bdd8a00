import PealLab
import Testing

@Suite("Random bytes")
struct FuzzTests {
    /// Short enough for every test run; `make fuzz` runs for an hour.
    @Test("break no connection, in pieces of any size", arguments: FuzzTarget.allCases, UInt64(1)...4)
    func bounded(_ target: FuzzTarget, _ seed: UInt64) throws {
        var fuzzer = Fuzzer(target, seed: seed)
        let count = target == .hpack ? 2600 : 1200
        do { try fuzzer.run(count) } catch { Issue.record("\(error)") }
        #expect(fuzzer.runCount == count)
        // The inputs cause many kinds of endings and faults.
        #expect(fuzzer.behaviourCount >= 15, "\(target): \(fuzzer.behaviourCount)")
    }

    @Test("are the same for the same seed", arguments: FuzzTarget.allCases)
    func repeatable(_ target: FuzzTarget) throws {
        let inputs = try [UInt64(7), 7, 8].map { seed in
            var inputs: [[UInt8]] = []
            var fuzzer = Fuzzer(target, seed: seed)
            try fuzzer.run(60) { inputs.append($0) }
            return inputs
        }
        #expect(inputs[0] == inputs[1])
        #expect(inputs[0] != inputs[2])
    }
}
