internal import PealCore

extension StoreSession {
    func report(of message: Message) throws -> MessageReport {
        var platforms: [Platform: OutcomeCounts] = [:]
        for (route, counts) in try routeCounts(message) {
            platforms[route.platform, default: .init()].add(counts)
        }
        return MessageReport(
            message: message, platforms: platforms, receipts: try receiptCounts(app: message.app, message: message.id))
    }

    /// By route: the counts stored when the message ended, otherwise the sum of its slices.
    private func routeCounts(_ message: Message) throws -> [Route: OutcomeCounts] {
        let folded = try connection.first(
            "SELECT counts FROM message WHERE \(MessageTable.matching(message.app, message.id))"
        ) { row in try row.next([UInt8]?.self).map(CountsCoding.decodeRoutes) }
        if let counts = folded ?? nil { return counts }
        return try openCounts(message)
    }

    /// The counts of a message that has not ended: of its users if it has a delivery window, otherwise of its slices.
    func openCounts(_ message: Message) throws -> [Route: OutcomeCounts] {
        let slices = try sliceCounts(app: message.app, id: message.id)
        guard message.windowUntil != nil else { return slices }
        var routes = try momentCounts(app: message.app, id: message.id)
        for (route, counts) in slices {
            let quarantined = counts.reasons[Self.quarantined]
            guard counts.resent > 0 || quarantined != nil else { continue }
            routes[route, default: .init()].resent += counts.resent
            if let quarantined { routes[route, default: .init()].reasons[Self.quarantined] = quarantined }
        }
        return routes
    }

    /// The reason under which devices of quarantined slices are counted. They are pending.
    private static let quarantined = "quarantined"

    /// The sum of a message's slices by route. What is pending in a slice is what its worker last reported, or else its
    /// estimate minus what is settled.
    func sliceCounts(app: AppKey, id: MessageID) throws -> [Route: OutcomeCounts] {
        var routes: [Route: OutcomeCounts] = [:]
        try connection.query(
            "SELECT route, state, estimate, counts FROM slice WHERE \(MessageTable.matching(app, id))"
        ) { row in
            let (route, state, estimate): (Route, Slice.State, Int) = (try row.next(), try row.next(), try row.next())
            let stored: [UInt8] = try row.next()
            // One that is quarantined because it cannot be read counts as not sent.
            var counts =
                try state == .quarantined
                ? (try? CountsCoding.decode(stored)) ?? OutcomeCounts() : CountsCoding.decode(stored)
            if state == .done {
                counts.pending = 0
            } else if counts.pending == 0 {
                counts.pending = SliceTable.pending(estimate: estimate, settled: counts.settled)
            }
            if state == .quarantined { counts.reasons[Self.quarantined, default: 0] += max(1, counts.pending) }
            routes[route, default: .init()].add(counts)
        }
        return routes
    }
}

/// Counts of outcomes, packed; the first byte is the version of the layout.
enum CountsCoding {
    /// Version 2 also counts devices that were sent to again; if there are none, version 1 is written.
    private static let version: UInt8 = 2

    private static func version(_ counts: some Collection<OutcomeCounts>) -> UInt8 {
        counts.contains { $0.resent > 0 } ? version : 1
    }

    static func encode(_ counts: OutcomeCounts) -> [UInt8] {
        var writer = ByteWriter()
        let version = version(CollectionOfOne(counts))
        writer.byte(version)
        write(counts, to: &writer, version)
        return writer.bytes
    }

    static func decode(_ bytes: [UInt8]) throws -> OutcomeCounts {
        var (reader, version) = try open(bytes)
        return try counts(&reader, version)
    }

    /// The final counts of a message, by route.
    static func encode(_ routes: [Route: OutcomeCounts]) -> [UInt8] {
        var writer = ByteWriter()
        let version = version(routes.values)
        writer.byte(version)
        writer.int(routes.count)
        for (route, counts) in routes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            writer.int(Int(route.rawValue))
            write(counts, to: &writer, version)
        }
        return writer.bytes
    }

    static func decodeRoutes(_ bytes: [UInt8]) throws -> [Route: OutcomeCounts] {
        var (reader, version) = try open(bytes)
        var routes: [Route: OutcomeCounts] = [:]
        for _ in 0..<(try reader.count()) {
            guard let route = Route(rawValue: Int64(try reader.int())) else { throw PealError.damaged("a route") }
            routes[route] = try counts(&reader, version)
        }
        return routes
    }

    private static func open(_ bytes: [UInt8]) throws -> (reader: ByteReader, version: UInt8) {
        var reader = ByteReader(bytes)
        let version = try reader.byte()
        guard (1...Self.version).contains(version) else { throw PealError.damaged("counts of a later version") }
        return (reader, version)
    }

    private static func write(_ counts: OutcomeCounts, to writer: inout ByteWriter, _ version: UInt8) {
        for number in [
            counts.accepted, counts.rejected, counts.retired, counts.expired, counts.suppressed, counts.pending,
        ] { writer.int(number) }
        if version >= 2 { writer.int(counts.resent) }
        writer.int(counts.reasons.count)
        for (reason, number) in counts.reasons.sorted(by: { $0.key < $1.key }) {
            writer.text(reason)
            writer.int(number)
        }
    }

    private static func counts(_ reader: inout ByteReader, _ version: UInt8) throws -> OutcomeCounts {
        var counts = OutcomeCounts()
        counts.accepted = try devices(&reader)
        counts.rejected = try devices(&reader)
        counts.retired = try devices(&reader)
        counts.expired = try devices(&reader)
        counts.suppressed = try devices(&reader)
        counts.pending = try devices(&reader)
        if version >= 2 { counts.resent = try devices(&reader) }
        for _ in 0..<(try reader.count()) {
            let reason = try reader.text()
            counts.reasons[reason] = try devices(&reader)
        }
        return counts
    }

    /// Counts are added, and a sum that overflows would end the process.
    private static func devices(_ reader: inout ByteReader) throws -> Int {
        let count = try reader.int()
        guard count <= devicesMax else { throw PealError.damaged("a count of devices") }
        return count
    }

    static let devicesMax = 1 << 40
}
