import ArgumentParser
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import PealCore

/// `peal-lab bench load`: sends HTTP/1.1 requests over keep-alive connections, one at a time on each, and prints rate
/// and latency.
struct LoadBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load", abstract: "Send HTTP/1.1 requests over keep-alive connections.",
        discussion: """
            The request file is JSON: {"method", "path", "headers": {…}, "body"}. In path and body, {n} is the number \
            of the request, {hex} the same as 64 hexadecimal digits and {uuid} as a UUID.
            """)

    @Option(help: "Port on 127.0.0.1.")
    var port: Int

    @Option(help: "File with the request.")
    var request: String

    @Option(help: "Number of requests.")
    var count = 10_000

    @Option(help: "Number of the first request.")
    var first = 0

    @Option(help: "Connections.")
    var connections = 64

    func validate() throws {
        guard count > 0, (1...10_000).contains(connections), first >= 0 else {
            throw ValidationError("--count, --connections and --first are out of range")
        }
    }

    func run() async throws {
        let template = try LoadTemplate(JSONParser.parse(Array(try Data(contentsOf: URL(fileURLWithPath: request)))))
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let run = LoadRun(template: template, numbers: first..<(first + count), loop: loop)
        let clock = ContinuousClock()
        let channels = try await run.connect(connections, port: port, group)
        let start = clock.now
        try await run.start(channels)
        let seconds = (clock.now - start) / .seconds(1)
        let (latencies, refused) = try await loop.submit { (run.latencies.value.sorted(), run.refused.value) }.get()
        for channel in channels { try? await channel.close().get() }
        try await group.shutdownGracefully()
        func percentile(_ share: Double) -> JSON {
            .number("\(latencies[min(latencies.count - 1, Int(Double(latencies.count) * share))] * 1000)")
        }
        BenchCommand.report([
            "requests": .integer(count), "seconds": .number("\(seconds)"),
            "per_second": .number("\(Double(count) / seconds)"), "p50_ms": percentile(0.5), "p99_ms": percentile(0.99),
            "refused": .object(.init(refused.map { ("\($0)", .integer($1)) })),
        ])
        guard refused.isEmpty else { throw ExitCode(1) }
    }
}
