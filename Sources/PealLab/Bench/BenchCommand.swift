import ArgumentParser
import Foundation
import PealCore

/// `peal-lab bench`: the programs with which `make bench` compares Peal, and parts of Peal measured alone.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Parts of the benchmarks in Benchmarks/.",
        subcommands: [SenderBench.self, RouteBench.self, LoadBench.self])

    /// Prints one line of JSON.
    static func report(_ figures: JSON) {
        StandardStream.print(figures.text)
    }
}

/// CPU time of this process.
enum ProcessTime {
    /// Seconds in user and kernel mode.
    static var cpuSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// The system's clocks.
struct BenchTime: TimeSource {
    private static let start = ContinuousClock.now

    var now: Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }
    var uptime: Duration { ContinuousClock.now - Self.start }
    func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

/// The system's randomness.
struct BenchRandomness: Randomness {
    func next() -> UInt64 { .random(in: .min ... .max) }
}
