import Foundation

/// Runs mutated inputs against one target until there are enough, time is up or one fails. Inputs that cause new
/// behaviour are mutated further.
package struct Fuzzer {
    /// A failing input.
    package struct Failure: Error, CustomStringConvertible {
        package let target: FuzzTarget
        package let seed: UInt64
        /// The number of the input, from 0.
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
    /// The number of inputs so far.
    package private(set) var runCount = 0
    private var pool: [[UInt8]]
    private let seedCount: Int
    private var mutator: FuzzMutator
    private var seen: Set<String> = []

    /// The number of different behaviours so far.
    package var behaviourCount: Int { seen.count }

    /// - Parameter corpus: initial inputs, in addition to the built-in ones.
    package init(_ target: FuzzTarget, seed: UInt64, corpus: [[UInt8]] = []) {
        self.target = target
        self.seed = seed
        pool = (FuzzCorpus.seeds[target] ?? []) + corpus.filter { $0.count <= FuzzMutator.inputBytesMax }
        seedCount = pool.count
        mutator = FuzzMutator(dice: Dice(seed: seed))
    }

    /// Runs inputs, starting with those of the pool.
    /// - Parameters:
    ///   - count: how many.
    ///   - willRun: called with each input before it runs.
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

/// A fuzz target.
package enum FuzzTarget: String, CaseIterable, Sendable {
    /// Frames of a server against open requests: the same bytes in pieces of other sizes must end them in the same way.
    case frames
    /// Header blocks, compared with another decoder.
    case hpack
    /// The life of a connection: requests start, time passes and settings change while bytes arrive.
    case connection

    /// Runs one input. Returns what failed, and the behaviours that the input caused: inputs with new behaviours are
    /// worth mutating further.
    package func run(_ input: [UInt8]) -> (violations: [String], signature: Set<String>) {
        switch self {
        case .frames: FrameTrial.run(input)
        case .hpack: HeaderTrial.run(input)
        case .connection: ConnectionTrial.run(input)
        }
    }
}

/// A file with the current input, so that it survives a crash, a hang or a kill.
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
            print("cannot write \(path): \(error)")
        }
    }

    /// Deletes the file after a run without failure.
    func remove() {
        try? file.close()
        try? FileManager.default.removeItem(atPath: path)
    }
}
