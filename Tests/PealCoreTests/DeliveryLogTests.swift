import PealCore
import Testing

@Suite("The delivery log")
struct DeliveryLogTests {
    /// A small generator (SplitMix64) so that every run sees the same devices.
    struct Chance {
        var state: UInt64
        mutating func next(_ bound: UInt64) -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
            return (value ^ value >> 31) % bound
        }
    }

    /// A page whose keys are `gap` apart on average, in which a share of the devices failed.
    static func page(gap: UInt64, troublePercent: UInt64, locales: [String?], seed: UInt64) -> [DeliveryLogEntry] {
        var chance = Chance(state: seed)
        var key: DeviceKey = 7_000_000
        return (0..<1024).map { _ in
            key += 1 + DeviceKey(gap == 1 ? 0 : chance.next(2 * gap - 1))
            let locale = locales[Int(chance.next(UInt64(locales.count)))]
            guard chance.next(100) < troublePercent else {
                return DeliveryLogEntry(key: key, outcome: .accepted, attempt: 1, locale: locale)
            }
            let reasons: [(Outcome, String)] = [
                (.retired, "Unregistered"), (.rejected, "BadCollapseId"), (.moved, "TooManyRequests"),
            ]
            let (outcome, reason) = reasons[Int(chance.next(3))]
            return DeliveryLogEntry(key: key, outcome: outcome, reason: reason, attempt: 1, locale: locale)
        }
    }

    @Test(
        "decodes what was encoded, at every density and with any outcomes and locales", arguments: [1, 2, 16, 64, 5000])
    func roundTrip(gap: UInt64) throws {
        for trouble: UInt64 in [0, 3, 60] {
            for locales in [[nil], ["en", "de", nil, "pt-BR"]] as [[String?]] {
                let entries = Self.page(gap: gap, troublePercent: trouble, locales: locales, seed: gap + trouble)
                #expect(try DeliveryLog.decode(DeliveryLog.encode(entries)).entries == entries)
            }
        }
    }

    @Test("keeps extreme keys", arguments: [[0], [.max], [1, .max], [0, 1, 2, 1 << 40], []] as [[DeviceKey]])
    func extremes(keys: [DeviceKey]) throws {
        let entries = keys.map { DeliveryLogEntry(key: $0, outcome: .suppressed, reason: "Cancelled", attempt: 0) }
        #expect(try DeliveryLog.decode(DeliveryLog.encode(entries)).entries == entries)
    }

    @Test("finds a device, and does not find one that is not there")
    func find() throws {
        let entries = Self.page(gap: 16, troublePercent: 10, locales: ["en", "de"], seed: 5)
        let bytes = DeliveryLog.encode(entries)
        for entry in entries.prefix(40) + entries.suffix(3) {
            #expect(try DeliveryLog.find(entry.key, in: bytes) == entry)
        }
        let keys = Set(entries.map(\.key))
        let absent = try #require((entries[0].key...).first { !keys.contains($0) })
        #expect(try DeliveryLog.find(absent, in: bytes) == nil)
        #expect(try DeliveryLog.find(entries[0].key - 1, in: bytes) == nil)
    }

    @Test(
        "takes few bytes per device",
        arguments: [
            (gap: 1, trouble: 0, locales: [nil], bytesMax: 0.1),
            (gap: 1, trouble: 3, locales: ["en", "de", "fr"], bytesMax: 0.8),
            (gap: 16, trouble: 3, locales: ["en", "de", "fr"], bytesMax: 1.4),
            (gap: 64, trouble: 10, locales: ["en", "de", "fr", "it"], bytesMax: 1.8),
            (gap: 4096, trouble: 60, locales: ["en", "de", "fr", "it"], bytesMax: 2.4),
        ] as [(gap: UInt64, trouble: UInt64, locales: [String?], bytesMax: Double)])
    func size(_ page: (gap: UInt64, trouble: UInt64, locales: [String?], bytesMax: Double)) {
        let entries = Self.page(gap: page.gap, troublePercent: page.trouble, locales: page.locales, seed: 1)
        let bytesPerDevice = Double(DeliveryLog.encode(entries).count) / Double(entries.count)
        #expect(bytesPerDevice <= page.bytesMax)
    }

    @Test("splits a page that is too large for one row into several")
    func split() throws {
        let entries = (0..<1024).map { number in
            DeliveryLogEntry(
                key: DeviceKey(number) << 30, outcome: .rejected,
                reason: "A long reason of a provider, number \(number)", attempt: number % 7 + 1,
                locale: "locale-\(number % 200)")
        }
        let log = DeliveryLog(entries)
        let rows = log.rows(sentAt: Timestamp(milliseconds: 0))
        #expect(rows.count > 1)
        #expect(rows.allSatisfy { $0.row.data.count <= Limits.logRowBytesMax })
        #expect(try rows.flatMap { try DeliveryLog.decode($0.row.data).entries } == entries)
        let counted = rows.reduce(into: OutcomeCounts()) { $0.add(log.counts($1.range)) }
        #expect(counted.rejected == 1024)
    }

    @Test("truncates a reason that is too long")
    func longReason() throws {
        let entry = DeliveryLogEntry(
            key: 1, outcome: .rejected, reason: String(repeating: "ä", count: 500), attempt: 1)
        let kept = try #require(try DeliveryLog.find(1, in: DeliveryLog.encode([entry])))
        #expect(kept.reason == String(repeating: "ä", count: Limits.logReasonBytesMax / 2))
    }

    @Test("counts by outcome and reason, without devices that moved on")
    func counts() {
        let log = DeliveryLog([
            DeliveryLogEntry(key: 1, outcome: .accepted, attempt: 1),
            DeliveryLogEntry(key: 2, outcome: .moved, reason: "TooManyRequests", attempt: 1),
            DeliveryLogEntry(key: 3, outcome: .retired, reason: "Unregistered", attempt: 1),
            DeliveryLogEntry(key: 4, outcome: .accepted, attempt: 1),
        ])
        let counts = log.counts(0..<4)
        #expect(counts.accepted == 2)
        #expect(counts.retired == 1)
        #expect(counts.settled == 3)
        #expect(counts.reasons == ["Unregistered": 1])
    }

    @Test("refuses truncated bytes, and never traps on changed ones")
    func garbage() throws {
        let bytes = DeliveryLog.encode(Self.page(gap: 40, troublePercent: 30, locales: ["en", "de", nil], seed: 9))
        for length in stride(from: 0, to: bytes.count, by: 7) {
            #expect(throws: DeliveryLogError.self) { try DeliveryLog.decode(Array(bytes.prefix(length))) }
        }
        #expect(throws: DeliveryLogError.self) { try DeliveryLog.decode(bytes + [0]) }
        var chance = Chance(state: 3)
        var refused = 0
        for _ in 0..<4000 {
            var changed = bytes
            for _ in 0...chance.next(6) {
                changed[Int(chance.next(UInt64(min(changed.count, 120))))] = UInt8(chance.next(256))
            }
            do { _ = try DeliveryLog.decode(changed).entries } catch { refused += 1 }
        }
        #expect(refused > 0)
    }

    @Test("reads random bytes without using much memory")
    func noise() {
        var chance = Chance(state: 77)
        for _ in 0..<4000 {
            let bytes = [DeliveryLog.version] + (0..<chance.next(60)).map { _ in UInt8(chance.next(256)) }
            if let log = try? DeliveryLog.decode(bytes) { #expect(log.count <= Limits.logRowDevicesMax) }
        }
    }
}
