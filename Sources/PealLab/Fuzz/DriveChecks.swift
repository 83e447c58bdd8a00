import PealCore
import PealProviders

/// What must hold of a connection whatever its peer sends.
struct DriveChecks {
    private static let windowMax = 0x7FFF_FFFF
    /// Kinds that a client writes: DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION.
    private static let kindsWritten: Set<UInt8> = [0, 1, 3, 4, 6, 7, 8, 9]
    /// Octets that one request may cost at most: a body let through octet by octet has a frame for each.
    private static let requestBytesMax = 42_000

    /// What the peer sent so far.
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
        demand(figures.pendingBodies <= 16, "\(figures.pendingBodies) bodies wait")
        let keptBytesMax = 2 * Limits.responseHeaderBytesMax + figures.openCount * Limits.responseBodyBytesMax
        demand(figures.keptBytes <= keptBytesMax, "\(figures.keptBytes) octets kept")
        demand(figures.tableSize <= 4096, "a table of \(figures.tableSize)")
        checkOutput(drive.takeOutput(), begunCount: drive.begunCount)
    }

    /// After the connection's end: every request ended once, and no other did.
    mutating func checkEnd(_ drive: inout FuzzDrive) {
        check(&drive)
        demand(drive.figures.openCount == 0, "\(drive.figures.openCount) streams stay open")
        let ended = drive.endings.map(\.request).sorted()
        demand(ended == Array(0..<drive.begunCount), "\(drive.begunCount) began and \(ended) ended")
    }

    private mutating func checkOutput(_ output: [UInt8], begunCount: Int) {
        writtenBytes += output.count
        let most = 200 + 3 * sentBytes + begunCount * Self.requestBytesMax
        demand(writtenBytes <= most, "\(most) octets are the most to be written for what came")
        guard !output.isEmpty else { return }
        let preface = hasPreface ? 0 : 24
        hasPreface = true
        for frame in Frame.parse(Array(output.dropFirst(preface))) {
            demand(frame.claimedBytes == nil, "a frame is cut short")
            demand(Self.kindsWritten.contains(frame.kind), "a frame of kind \(frame.kind)")
        }
    }

    private mutating func demand(_ holds: Bool, _ what: @autoclosure () -> String) {
        if !holds { violations.append(what()) }
    }
}
