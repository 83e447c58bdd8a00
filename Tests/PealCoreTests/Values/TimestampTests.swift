import PealCore
import Testing

@Suite("Timestamp") struct TimestampTests {
    @Test(
        "reads RFC 3339 with any offset",
        arguments: [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00.001Z", 1),
            ("1969-12-31T23:59:59.999Z", -1),
            ("2026-11-21T02:30:00Z", 1_795_228_200_000),
            ("2026-11-21t02:30:00z", 1_795_228_200_000),
            ("2026-11-21 02:30:00Z", 1_795_228_200_000),
            ("2026-11-21T04:30:00+02:00", 1_795_228_200_000),
            ("2026-11-20T21:00:00-05:30", 1_795_228_200_000),
            ("2026-11-21T02:30:00.5Z", 1_795_228_200_500),
            ("2026-11-21T02:30:00.12Z", 1_795_228_200_120),
            ("2026-11-21T02:30:00.123999999999999999Z", 1_795_228_200_123),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("2000-02-29T00:00:00Z", 951_782_400_000),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
            ("2016-04-01T00:00:00Z", 1_459_468_800_000),
        ])
    func reads(text: String, milliseconds: Int64) throws {
        #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
    }

    @Test(
        "refuses anything else",
        arguments: [
            "", "2026-11-21", "2026-11-21T02:30Z", "2026-11-21T02:30:00", "2026-11-21T02:30:00.Z",
            "2026-11-21T02:30:00+2",
            "2026-11-21T02:30:00+0200", "2026-11-21T02:30:00 02:00", "2026-11-21T02:30:00+24:00",
            "2026-11-21T02:30:00+00:60", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "+026-01-01T00:00:00Z", "2026-1-01T00:00:00Z0",
            "2026-11-21T02:30:00ZZ", "2026-11-21T02:30:00Zé", "٢٠٢٦-11-21T02:30:00Z", "2026-11-21T02:30:00.１Z",
            "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "9999-12-31T23:59:60Z",
        ])
    func refuses(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test(
        "writes what it reads",
        arguments: [
            0, 1, -1, 1_795_228_200_000, 951_782_400_000, -62_167_219_200_000, 253_402_300_799_999, 68_169_600_000,
            -86_400_001,
        ] as [Int64])
    func roundTrip(milliseconds: Int64) {
        let instant = Timestamp(milliseconds: milliseconds)
        #expect(Timestamp(rfc3339: instant.description) == instant)
    }

    @Test("writes milliseconds only when there are any")
    func fraction() {
        #expect(Timestamp(milliseconds: 1_795_228_200_000).description == "2026-11-21T02:30:00Z")
        #expect(Timestamp(milliseconds: 1_795_228_200_050).description == "2026-11-21T02:30:00.050Z")
    }

    @Test("reads what it wrote for every day of four hundred years")
    func everyDay() {
        for day in stride(from: Int64(-73_049), through: 73_050, by: 1) {
            let instant = Timestamp(milliseconds: day * 86_400_000 + 43_200_000)
            #expect(Timestamp(rfc3339: instant.description) == instant)
        }
    }

    @Test("does not overflow at the ends of its range", arguments: [Int64.min, .min + 1, .max])
    func extremes(milliseconds: Int64) {
        let instant = Timestamp(milliseconds: milliseconds)
        #expect(!instant.description.isEmpty)
        #expect(
            instant.seconds == Int64((Double(milliseconds) / 1000).rounded(.down)) || abs(instant.seconds) > 1 << 52)
        #expect(instant + .seconds(Int64.max) >= instant)
        #expect(instant - .seconds(Int64.max) <= instant)
        #expect(Timestamp(milliseconds: .max) - Timestamp(milliseconds: .min) > .zero)
    }

    @Test("does not wrap when seconds are too many for milliseconds")
    func saturation() {
        #expect(Timestamp(seconds: .max).milliseconds == .max)
        #expect(Timestamp(seconds: .min).milliseconds == .min)
        #expect(Timestamp(seconds: 5).milliseconds == 5000)
        #expect(Timestamp(milliseconds: -1).seconds == -1)
        #expect(Timestamp(milliseconds: 1999).seconds == 1)
        #expect(Timestamp(milliseconds: 9_007_199_254_740_993_000).seconds == 9_007_199_254_740_993)
        #expect(Duration.seconds(Int64.max).milliseconds == .max)
        #expect(Duration.milliseconds(-1500).milliseconds == -1500)
    }
}
