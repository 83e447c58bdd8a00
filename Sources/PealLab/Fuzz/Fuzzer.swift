import Foundation

/// Runs mutated inputs against one target until there are enough, time is up or something is wrong. Inputs that bring
/// about something new are mutated further.
package struct Fuzzer {
    /// What was wrong with an input.
    package struct Failure: Error, CustomStringConvertible {
        package let target: FuzzTarget
        package let seed: UInt64
        /// Which input it was, counted from 0.
        package let run: Int
        package let violations: [String]
        package let input: [UInt8]

        package var description: String {
            let hexadecimal = input.prefix(2000).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            return "\(target.rawValue), seed \(seed), run \(run): \(violations.joined(separator: "; "))\n\(hexadecimal)"
        }
    }

    private static let poolInputsMax = 4096

    package let target: FuzzTarget
    package let seed: UInt64
    /// Inputs that ran.
    package private(set) var runCount = 0
    private var pool: [[UInt8]]
    private let seedCount: Int
    private var mutator: FuzzMutator
    private var seen: Set<String> = []

    /// How many different things inputs brought about.
    package var behaviourCount: Int { seen.count }

    /// - Parameter corpus: inputs to begin with, beside the built-in ones.
    package init(_ target: FuzzTarget, seed: UInt64, corpus: [[UInt8]] = []) {
        self.target = target
        self.seed = seed
        pool = (FuzzCorpus.seeds[target] ?? []) + corpus.filter { $0.count <= FuzzMutator.inputBytesMax }
        seedCount = pool.count
        mutator = FuzzMutator(dice: Dice(seed: seed))
    }

    /// Runs inputs, the pool's own ones first.
    /// - Parameters:
    ///   - count: how many.
    ///   - willRun: is told each input before it runs.
    package mutating func run(_ count: Int, willRun: ([UInt8]) -> Void = { _ in }) throws(Failure) {
        for _ in 0..<count {
            let input = nextInput()
            willRun(input)
            let (violations, signature) = target.run(input)
            guard violations.isEmpty else {
                throw Failure(target: target, seed: seed, run: runCount, violations: violations, input: input)
            }
            runCount += 1
            if !signature.isSubset(of: seen), pool.count < Self.poolInputsMax { pool.append(input) }
            seen.formUnion(signature)
        }
    }

    private mutating func nextInput() -> [UInt8] {
        if runCount < seedCount { return pool[runCount] }
        return mutator.mutate(mutator.dice.pick(pool), target, with: mutator.dice.pick(pool))
    }
}

/// What is fuzzed.
package enum FuzzTarget: String, CaseIterable, Sendable {
    /// Frames of a server, against requests that are open: the same octets in pieces of other sizes end them alike.
    case frames
    /// Header blocks, against the decoder of another author.
    case hpack
    /// A connection's life: requests begin, time passes and settings change while octets come.
    case connection

    /// Runs one input. Returns what was wrong, and what the input brought about: inputs that bring something new are
    /// worth mutating further.
    package func run(_ input: [UInt8]) -> (violations: [String], signature: Set<String>) {
        switch self {
        case .frames: FrameTrial.run(input)
        case .hpack: HeaderTrial.run(input)
        case .connection: ConnectionTrial.run(input)
        }
    }
}

/// A file that holds the input at work, so that it is there after a trap, a hang or a kill.
struct RunningInput {
    let path: String
    private let file: FileHandle

    init(folder: String, target: FuzzTarget, seed: UInt64) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        path = "\(folder)/\(target.rawValue)-seed-\(seed)"
        try Data().write(to: URL(fileURLWithPath: path))
        file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }

    func write(_ input: [UInt8]) {
        do {
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: input)
        } catch {
            print("\(path) cannot be written: \(error)")
        }
    }

    /// Nothing was wrong.
    func remove() {
        try? file.close()
        try? FileManager.default.removeItem(atPath: path)
    }
}
