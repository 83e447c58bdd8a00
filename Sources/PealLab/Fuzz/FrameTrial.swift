import PealCore
import PealProviders

/// Feeds the same bytes to three connections in pieces of different sizes. All must end in the same way.
enum FrameTrial {
    private static let requests = 20
    private static let bodyBytes = 40

    static func run(_ input: [UInt8]) -> (violations: [String], signature: Set<String>) {
        var dice = Dice(of: input)
        let whole = [input.count]
        let small = input.count > 2000 ? [dice.next(below: 500) + 1] : [1]
        let mixed = (0..<8).map { _ in dice.next(below: 40) + 1 }
        var violations: [String] = []
        var outcomes: [Outcome] = []
        for sizes in [whole, small, mixed] {
            let (drive, found) = play(input, sizes)
            violations += found
            outcomes.append(Outcome(drive))
        }
        if Set(outcomes).count > 1 { violations.append("piece sizes make a difference: \(outcomes)") }
        return (violations, outcomes[0].signature)
    }

    /// The endings of every request and of the connection.
    private struct Outcome: Hashable {
        let kinds: [Int: [String]]
        let fault: String?

        init(_ drive: FuzzDrive) {
            kinds = Dictionary(grouping: drive.endings, by: \.request).mapValues { $0.map(\.kind) }
            fault = drive.fault
        }

        var signature: Set<String> {
            Set(kinds.values.flatMap { $0 }.map { String($0.prefix(12)) }).union([fault ?? "no fault"])
        }
    }

    private static func play(_ input: [UInt8], _ sizes: [Int]) -> (FuzzDrive, [String]) {
        var drive = FuzzDrive(bodyBytes: bodyBytes)
        drive.receive(FuzzCorpus.settings([])[...])
        drive.begin(requests)
        var checks = DriveChecks(sentBytes: 9)
        checks.check(&drive)
        var index = 0
        var turn = 0
        while index < input.count {
            let end = min(input.count, index + max(1, sizes[turn % sizes.count]))
            drive.receive(input[index..<end])
            checks.sentBytes += end - index
            turn += 1
            index = end
            if turn % 64 == 0 || end == input.count { checks.check(&drive) }
        }
        drive.close()
        checks.checkEnd(&drive)
        return (drive, checks.violations)
    }
}

/// The life of a connection. The input also determines how many requests start between its pieces, how large they are
/// and when time passes.
enum ConnectionTrial {
    static func run(_ input: [UInt8]) -> (violations: [String], signature: Set<String>) {
        var dice = Dice(of: input)
        var drive = FuzzDrive(bodyBytes: dice.pick([0, 1, 40, 4096]))
        var checks = DriveChecks(sentBytes: 0)
        checks.check(&drive)
        if !dice.hits(oneIn: 8) {
            let window = dice.pick([0, 1, 100, 65_535, 0x7FFF_FFFF]) as UInt32
            let settings = FuzzCorpus.settings([(3, UInt32(dice.next(below: 70))), (4, window)])
            drive.receive(settings[...])
            checks.sentBytes += settings.count
        }
        let pieceBytes = dice.pick([1, 7, 30, 500, 20_000])
        var index = 0
        while index < input.count {
            drive.begin(dice.next(below: 10))
            let end = min(input.count, index + dice.next(below: pieceBytes) + 1)
            drive.receive(input[index..<end])
            checks.sentBytes += end - index
            if dice.hits(oneIn: 20) {
                // A reset for each cancelled request, and a PING.
                checks.sentBytes += 13 * drive.figures.openCount + 17
                drive.tick()
            }
            if dice.hits(oneIn: 16) { checks.check(&drive) }
            index = end
        }
        drive.close()
        checks.checkEnd(&drive)
        let kinds = Set(drive.endings.map { String($0.kind.prefix(12)) })
        return (checks.violations, kinds.union([drive.fault ?? "no fault"]))
    }
}

/// The invariants of a connection, whatever its peer sends.
struct DriveChecks {
    private static let windowMax = 0x7FFF_FFFF
    /// Frame types that a client writes: DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE,
    /// CONTINUATION.
    private static let kindsWritten: Set<UInt8> = [0, 1, 3, 4, 6, 7, 8, 9]
    /// The maximum bytes written for one request: a body sent byte by byte has a frame for each.
    private static let requestBytesMax = 42_000

    /// Bytes from the peer so far.
    var sentBytes: Int
    private(set) var violations: [String] = []
    private var writtenBytes = 0
    private var hasPreface = false

    init(sentBytes: Int) { self.sentBytes = sentBytes }

    mutating func check(_ drive: inout FuzzDrive) {
        let figures = drive.figures
        demand(figures.sendWindow <= Self.windowMax || drive.fault != nil, "connection window \(figures.sendWindow)")
        demand(figures.streamWindowMax <= Self.windowMax || drive.fault != nil, "window \(figures.streamWindowMax)")
        demand(figures.receiveWindow <= Limits.receiveWindowBytes, "receive window \(figures.receiveWindow)")
        demand(figures.pendingBodies <= 16, "\(figures.pendingBodies) pending bodies")
        let keptBytesMax = 4 * Limits.responseHeaderBytesMax + figures.openCount * Limits.responseBodyBytesMax
        demand(figures.keptBytes <= keptBytesMax, "\(figures.keptBytes) bytes kept")
        demand(figures.tableSize <= 4096, "a table of \(figures.tableSize)")
        checkOutput(drive.takeOutput(), begunCount: drive.begunCount)
    }

    /// After the end of the connection: every request ended exactly once.
    mutating func checkEnd(_ drive: inout FuzzDrive) {
        check(&drive)
        demand(drive.figures.openCount == 0, "\(drive.figures.openCount) streams are still open")
        let ended = drive.endings.map(\.request).sorted()
        demand(ended == Array(0..<drive.begunCount), "\(drive.begunCount) requests started and \(ended) ended")
    }

    private mutating func checkOutput(_ output: [UInt8], begunCount: Int) {
        writtenBytes += output.count
        let most = 200 + 3 * sentBytes + begunCount * Self.requestBytesMax
        demand(writtenBytes <= most, "\(most) bytes is the maximum for this input")
        guard !output.isEmpty else { return }
        let preface = hasPreface ? 0 : 24
        hasPreface = true
        for frame in Frame.parse(Array(output.dropFirst(preface))) {
            demand(frame.claimedBytes == nil, "a frame is truncated")
            demand(Self.kindsWritten.contains(frame.kind), "a frame of kind \(frame.kind)")
        }
    }

    private mutating func demand(_ holds: Bool, _ what: @autoclosure () -> String) {
        if !holds { violations.append(what()) }
    }
}
