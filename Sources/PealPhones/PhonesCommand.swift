package import ArgumentParser
import Foundation
import PealDevice
import PealWorlds

/// `peal-sim phones`: thousands of simulated phones with the real SDK in front of a real server.
package struct PhonesCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "phones",
        abstract: "Simulate people with phones: the real SDK over HTTP, in front of a server and this simulator.",
        discussion: """
            Sends each person a message a day with a delivery window, as an experiment. Exits with 1 if a message was \
            shown twice, shown after its cancellation, or never attempted. Server and simulator must run with the \
            moved clock of Tests/Clients/moved_clock.c; Scripts/phones.py does all of it.
            """)

    @Option(help: "Number of phones.")
    var count = 100

    @Option(help: "Simulated days, 1 to 14.")
    var days = 2

    @Option(help: "Address of the server.")
    var server: String

    @Option(
        help: "Id of the app. It has the simulator's APNs key, and its service account if there are Android phones.")
    var app: String

    @Option(help: "A key of the app with the scopes send, read and manage, or the admin token.")
    var key: String

    @Option(help: "Directory of the running simulator.")
    var simulator: String

    @Option(help: "File with the offset of the clock that server and simulator watch.")
    var clock: String

    @Option(
        help: """
            Directory for the ledgers of all phones. Without it, most phones keep theirs in memory, and every fiftieth \
            in a temporary file.
            """)
    var directory: String?

    @Option(help: "Seed of everything that happens in the world.")
    var seed = 1

    @Option(help: "Length of the delivery windows in hours, 1 to 12.")
    var windowHours = 6

    @Option(help: "Minutes from one look at the world to the next: 10, 20, 30 or 60.")
    var stepMinutes = 10

    @Option(help: "Milliseconds that the server gets in each step to notice what is due.")
    var settleMilliseconds = 1150

    @Option(help: "The share of messages that are cancelled in their window.")
    var cancelled = 0.03

    @Option(help: "The share of people with an Android phone, which FCM reaches.")
    var android = 0.0

    @Option(help: "The campaign of the messages.")
    var campaign = "phones"

    @Flag(help: "Print when each message is shown, and why.")
    var story = false

    @Flag(help: "Print JSON.")
    var json = false

    @Option(help: "File for the report as JSON, besides what is printed. It is written after every simulated day.")
    var report: String?

    @Option(help: "File that always contains which share of the run is done, from 0 to 1.")
    var progress: String?

    package init() {}

    package func validate() throws {
        guard (1...100_000).contains(count) else { throw ValidationError("--count must be 1 to 100000") }
        guard (1...14).contains(days) else { throw ValidationError("--days must be 1 to 14") }
        guard (1...12).contains(windowHours) else { throw ValidationError("--window-hours must be 1 to 12") }
        guard [10, 20, 30, 60].contains(stepMinutes) else {
            throw ValidationError("--step-minutes must be 10, 20, 30 or 60")
        }
        guard (0...1).contains(cancelled) else { throw ValidationError("--cancelled must be 0 to 1") }
        guard (0...1).contains(android) else { throw ValidationError("--android must be 0 to 1") }
        guard settleMilliseconds >= 0 else { throw ValidationError("--settle-milliseconds must not be negative") }
    }

    package func run() async throws {
        let http = PhonesHTTP()
        do {
            let report = try await live(http)
            await http.close()
            print(json ? report.json : report.table)
            try Self.keep(report, in: self.report)
            guard report.holds else { throw ExitCode(1) }
        } catch let failure as PhonesFailure {
            await http.close()
            throw ValidationError(failure.description)
        }
    }

    private func live(_ http: PhonesHTTP) async throws -> PhonesReport {
        guard let address = URL(string: server) else { throw PhonesFailure("--server: not a URL") }
        let description = try? Data(contentsOf: URL(fileURLWithPath: "\(simulator)/simulator.json"))
        let known = PhonesJSON(value: description.flatMap { try? JSONSerialization.jsonObject(with: $0) })
        guard let control = known["control_url"].text else {
            throw PhonesFailure("--simulator: no simulator.json in \(simulator)")
        }
        let author = AuthorAPI(http: http, server: server, app: app, key: key)
        let made = try await author.insist("POST", "/keys", ["dialect": "device", "name": "peal-sim phones"])
        guard let deviceKey = made["token"].text, let secret = made["shared_secret"].text.flatMap(Self.bytes) else {
            throw PhonesFailure("the server made no device key")
        }
        let temporary = FileManager.default.temporaryDirectory.appendingPathComponent(
            "peal-phones-\(UUID().uuidString)")
        let folder = directory.map { URL(fileURLWithPath: $0) } ?? temporary
        defer { if directory == nil { try? FileManager.default.removeItem(at: temporary) } }
        let moved = try WorldClock(path: clock)
        let (isQuiet, isOnDisk, file, progress) = (json, directory != nil, report, progress)
        let run = PhonesRun(
            plan, author: author, clock: moved, inbox: SimulatedInbox(http: http, control: control),
            settings: { _ in
                PhoneSettings(
                    server: address, key: deviceKey, secret: secret, folder: folder, isOnDisk: isOnDisk, clock: moved,
                    http: http)
            },
            say: { if !isQuiet { print($0); fflush(nil) } },
            watch: PhonesWatch(
                dayEnded: { try Self.keep($0, in: file) },
                moved: { share in
                    guard let progress else { return }
                    try "\(share)".write(toFile: progress, atomically: true, encoding: .utf8)
                }))
        return try await run.run()
    }

    private static func keep(_ report: PhonesReport, in file: String?) throws {
        guard let file else { return }
        try report.json.write(toFile: file, atomically: true, encoding: .utf8)
    }

    private var plan: PhonesPlan {
        var plan = PhonesPlan()
        (plan.count, plan.seed, plan.campaign, plan.android) = (count, seed, campaign, android)
        (plan.daily.days, plan.daily.windowHours) = (days, windowHours)
        (plan.daily.stride, plan.daily.cancelled) = (stepMinutes / 10, cancelled)
        (plan.settle, plan.printsStory) = (.milliseconds(settleMilliseconds), story)
        return plan
    }

    /// The bytes of a hexadecimal text; nil for another.
    private static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        let bytes = stride(from: 0, to: digits.count, by: 2).map {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
        return bytes.contains(nil) ? nil : bytes.compactMap { $0 }
    }
}
