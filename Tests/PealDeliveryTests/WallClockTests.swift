import PealCore
@testable import PealDelivery
import Testing

@Suite("Clocks of time zones")
struct WallClockTests {
    private static func time(_ text: String) throws -> Timestamp { try #require(Timestamp(rfc3339: text)) }

    @Test(
        "a local time is an instant in each zone, even if clocks skip or repeat it",
        arguments: [
            ("Europe/Vienna", "2026-07-01T09:00:00Z", "2026-07-01T07:00:00Z"),
            ("Pacific/Kiritimati", "2026-07-01T09:00:00Z", "2026-06-30T19:00:00Z"),
            ("Etc/GMT+12", "2026-07-01T09:00:00Z", "2026-07-01T21:00:00Z"),
            ("Asia/Kathmandu", "2026-07-01T09:00:00Z", "2026-07-01T03:15:00Z"),
            // Skipped: 02:00 to 03:00.
            ("Europe/Vienna", "2026-03-29T02:30:00Z", "2026-03-29T01:30:00Z"),
            ("Europe/Vienna", "2026-03-29T01:59:00Z", "2026-03-29T00:59:00Z"),
            ("Europe/Vienna", "2026-03-29T03:00:00Z", "2026-03-29T01:00:00Z"),
            // Shown twice: 02:00 to 03:00.
            ("Europe/Vienna", "2026-10-25T02:30:00Z", "2026-10-25T00:30:00Z"),
            ("Europe/Vienna", "2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z"),
            ("America/New_York", "2026-11-01T01:30:00Z", "2026-11-01T05:30:00Z"),
            ("America/New_York", "2026-03-08T02:30:00Z", "2026-03-08T07:30:00Z"),
            // Clocks change by half an hour.
            ("Australia/Lord_Howe", "2026-10-04T02:15:00Z", "2026-10-03T15:45:00Z"),
            // A whole day was skipped.
            ("Pacific/Apia", "2011-12-31T09:00:00Z", "2011-12-30T19:00:00Z"),
        ])
    func instants(_ zone: String, _ reading: String, _ instant: String) throws {
        let clock = try #require(WallClock(zone))
        #expect(clock.instant(of: try Self.time(reading)).description == instant)
    }

    @Test(
        "quiet hours end at their end in the device's zone",
        arguments: [
            ("UTC", 22 * 60, 7 * 60, "2026-07-01T23:00:00Z", "2026-07-02T07:00:00Z"),
            ("UTC", 22 * 60, 7 * 60, "2026-07-01T06:59:59Z", "2026-07-01T07:00:00Z"),
            ("UTC", 22 * 60, 7 * 60, "2026-07-01T07:00:00Z", nil),
            ("UTC", 22 * 60, 7 * 60, "2026-07-01T21:59:59Z", nil),
            ("UTC", 12 * 60, 14 * 60, "2026-07-01T13:00:00Z", "2026-07-01T14:00:00Z"),
            ("UTC", 12 * 60, 14 * 60, "2026-07-01T14:00:00Z", nil),
            ("Europe/Vienna", 22 * 60, 7 * 60, "2026-07-01T21:00:00Z", "2026-07-02T05:00:00Z"),
            ("Asia/Tokyo", 22 * 60, 7 * 60, "2026-07-01T21:00:00Z", "2026-07-01T22:00:00Z"),
            // The night is an hour shorter, and longer.
            ("Europe/Vienna", 22 * 60, 7 * 60, "2026-03-28T23:00:00Z", "2026-03-29T05:00:00Z"),
            ("Europe/Vienna", 22 * 60, 7 * 60, "2026-10-24T23:00:00Z", "2026-10-25T06:00:00Z"),
            // They end in an hour that is skipped: when it is over.
            ("Europe/Vienna", 0, 150, "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"),
            // They end in an hour that is repeated: the first time, and again.
            ("Europe/Vienna", 0, 150, "2026-10-25T00:10:00Z", "2026-10-25T00:30:00Z"),
            ("Europe/Vienna", 0, 150, "2026-10-25T01:10:00Z", "2026-10-25T01:30:00Z"),
        ] as [(String, Int, Int, String, String?)])
    func quiet(_ zone: String, _ from: Int, _ to: Int, _ now: String, _ end: String?) throws {
        let clock = try #require(WallClock(zone))
        let hours = try #require(QuietHours(from: from, to: to))
        #expect(clock.end(of: hours, at: try Self.time(now))?.description == end)
    }

    @Test(
        "the first known zone of a device and its app says what clocks show; otherwise UTC",
        arguments: [
            (["Asia/Kathmandu", "Europe/Vienna"], "2026-07-01T14:45:00Z"),
            (["x", "Europe/Vienna"], "2026-07-01T11:00:00Z"), (["x"], "2026-07-01T09:00:00Z"),
            ([], "2026-07-01T09:00:00Z"),
        ] as [([String], String)])
    func zones(_ zones: [String], _ reading: String) throws {
        #expect(try LocalClock.system.reading(at: Self.time("2026-07-01T09:00:00Z"), in: zones) == Self.time(reading))
    }

    @Test("unknown names are refused", arguments: ["", "Europe/Atlantis", "x"])
    func unknown(_ name: String) { #expect(WallClock(name) == nil) }
}
