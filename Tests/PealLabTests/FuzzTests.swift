import PealLab
import Testing

@Suite("Octets by chance")
struct FuzzTests {
    /// Enough to be worth it and quick enough for every run of the tests; `make fuzz` goes on for an hour.
    @Test("bring no connection down, in pieces of any size", arguments: FuzzTarget.allCases, UInt64(1)...4)
    func bounded(_ target: FuzzTarget, _ seed: UInt64) throws {
        var fuzzer = Fuzzer(target, seed: seed)
        let count = target == .hpack ? 2600 : 1200
        do { try fuzzer.run(count) } catch { Issue.record("\(error)") }
        #expect(fuzzer.runCount == count)
        // The inputs reach far: many kinds of endings and of faults.
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
