import ArgumentParser
import Foundation
import Logging
import NIOCore
import NIOPosix
import PealCore
import PealProviders

/// `peal-lab bench sender`: sends pages that are already rendered to APNs, without a database, and prints the CPU time
/// of each notification.
struct SenderBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sender", abstract: "Send rendered pages to a simulator and print the CPU time per notification.")

    @Option(help: "The simulator.json of a peal-sim in fast mode.")
    var simulator: String

    @Option(help: "Devices of each round.")
    var devices = 100_000

    @Option(help: "Connections.")
    var connections = 4

    @Option(help: "Rounds. One more before them is not counted.")
    var rounds = 3

    /// Devices of a page, as in the delivery engine.
    private static let pageDevices = Limits.pageDevicesMax
    /// How many pages wait for answers at a time.
    private static let pagesInFlight = 16

    func run() async throws {
        let simulator = try BenchAPNs(file: simulator)
        let provider = try APNsProvider(
            APNsConfiguration(
                production: .init(send: simulator.url, management: simulator.url), caFile: simulator.caFile,
                connectionsPerPoolMax: connections),
            ProviderSurroundings(
                group: MultiThreadedEventLoopGroup.singleton, time: BenchTime(), randomness: BenchRandomness(),
                logger: Logger(label: "bench")))
        let pages = Self.pages(devices)
        try await send(pages, simulator, provider)
        var figures: [Double] = []
        for _ in 0..<rounds {
            let before = ProcessTime.cpuSeconds
            try await send(pages, simulator, provider)
            figures.append((ProcessTime.cpuSeconds - before) / Double(devices) * 1e6)
        }
        await provider.close()
        BenchCommand.report([
            "devices": .integer(devices), "connections": .integer(connections),
            "cpu_us": .array(figures.map { .number("\($0)") }),
        ])
    }

    /// Sends every page once and waits for all answers.
    /// - Throws: when a notification was not accepted.
    private func send(_ pages: [DevicePage], _ simulator: BenchAPNs, _ provider: APNsProvider) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, page) in pages.enumerated() {
                if number >= Self.pagesInFlight { try await group.next() }
                group.addTask {
                    let order = simulator.order(page)
                    provider.send(order)
                    while !order.flight.answers.isComplete { await order.flight.wait() }
                    if let failure = order.flight.answers.exceptions.values.first {
                        throw ValidationError("not accepted: \(failure)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func pages(_ devices: Int) -> [DevicePage] {
        stride(from: 0, to: devices, by: pageDevices).map { start in
            let keys = start..<min(start + pageDevices, devices)
            var page = DevicePage(
                through: DeviceKey(keys.upperBound), isLast: keys.upperBound == devices,
                readAt: Timestamp(seconds: 0), capacity: keys.count)
            for number in keys {
                var address = [UInt8](repeating: 0, count: 32)
                for byte in 0..<4 { address[31 - byte] = UInt8(truncatingIfNeeded: number >> (8 * byte)) }
                address.withUnsafeBytes {
                    page.append(key: DeviceKey(number + 1), address: $0, revision: 1, locale: 0)
                }
            }
            return page
        }
    }
}

/// The APNs of a `peal-sim`: its address, its credential, and the notification of the benchmarks.
private struct BenchAPNs: Sendable {
    let url: String
    let caFile: String
    private let credential: Credential
    private let notification: PealCore.Notification

    init(file: String) throws {
        let description = try BenchCommand.document(file)
        guard let url = description["apns_url"]?.stringValue, let caFile = description["ca_file"]?.stringValue,
            let apns = description["apns"], let keyFile = apns["private_key_file"]?.stringValue,
            let keyID = apns["key_id"]?.stringValue, let teamID = apns["team_id"]?.stringValue,
            let bundleID = apns["bundle_id"]?.stringValue
        else { throw ValidationError("\(file) does not describe a simulator") }
        self.url = url
        self.caFile = caFile
        credential = .apnsToken(
            .init(
                keyID: keyID, teamID: teamID, privateKey: try String(contentsOfFile: keyFile, encoding: .utf8),
                bundleID: bundleID))
        let text = String(repeating: "x", count: 180)
        let body = #"{"aps":{"alert":{"title":"Town hall","body":"\#(text)"},"badge":1},"story":"1234567890"}"#
        notification = PealCore.Notification(
            route: .apnsProduction, path: .init(Array("/3/device/".utf8), gap: .addressHex),
            headers: [
                .init("apns-topic", bundleID), .init("apns-push-type", "alert"), .init("apns-priority", "10"),
                .init("apns-expiration", "1900000000"),
            ],
            body: .init(Array(body.utf8)))
    }

    func order(_ page: DevicePage) -> PageOrder {
        let slice = Slice.ID(
            app: 1, message: MessageID(high: 7, low: 9), route: .apnsProduction, rangeStart: 0, part: 0)
        return PageOrder(
            slice: slice, credential: credential, fingerprint: "bench", page: page, notifications: [notification],
            variants: Array(repeating: 0, count: page.count), lane: .bulk,
            deadline: BenchTime().uptime + .seconds(600), control: SendControl())
    }
}

/// CPU time of this process.
private enum ProcessTime {
    /// Seconds in user and kernel mode.
    static var cpuSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// The system's clocks.
private struct BenchTime: TimeSource {
    private static let start = ContinuousClock.now

    var now: Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }
    var uptime: Duration { ContinuousClock.now - Self.start }
    func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

/// The system's randomness.
private struct BenchRandomness: Randomness {
    func next() -> UInt64 { .random(in: .min ... .max) }
}
