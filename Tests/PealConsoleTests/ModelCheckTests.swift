import PealCore
@testable import PealExperiments
import PealStore
import PealTesting
import Synchronization
import Testing

@Suite("The check of a moment model") struct ModelCheckTests {
    /// A context as a phone encodes it, of a phone that is unlocked or not.
    private static func context(minute: Int, isUnlocked: Bool) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 16)
        bytes[0] = 2
        (bytes[1], bytes[2]) = (UInt8(minute & 0xFF), UInt8(minute >> 8))
        bytes[11] = isUnlocked ? 0b10 : 0b01
        return bytes
    }

    private static func label(_ number: Int, isUnlocked: Bool, isOpened: Bool) -> MomentLabel {
        MomentLabel(
            campaign: "c", snapshot: context(minute: number % 1440, isUnlocked: isUnlocked), exploration: .greedy,
            shownAt: Timestamp(milliseconds: 0), isOpened: isOpened)
    }

    private static func journey(wakes: Int, isShown: Bool, isOpened: Bool) -> MomentJourney {
        let trace = (0..<wakes).flatMap { wake -> [UInt8] in
            [UInt8(wake * 30), 0, 88, 96, 100] + context(minute: 600 + wake * 30, isUnlocked: false)
        }
        return MomentJourney(
            campaign: "c", trace: trace, windowMinutes: 360, isShownByPhone: isShown, isOpened: isOpened)
    }

    @Test("compares predictions with opens in groups of similar predictions")
    func calibration() throws {
        let labels = (0..<400).map { number in
            Self.label(
                number, isUnlocked: number.isMultiple(of: 2), isOpened: number.isMultiple(of: number % 2 == 0 ? 4 : 20))
        }
        let check = try #require(ModelCheck(nil, labels: labels, journeys: []))
        #expect(check.calibration.count == 10)
        #expect(check.calibration.allSatisfy { $0.displays == 40 })
        #expect(check.calibration.reduce(0) { $0 + $1.opens } == labels.count { $0.isOpened })
        let (first, last) = (try #require(check.calibration.first), try #require(check.calibration.last))
        #expect(first.predicted < last.predicted && first.rate < last.rate, "unlocked phones are a good sign")
        for bin in check.calibration {
            #expect(bin.interval.contains(bin.rate) && bin.interval.lowerBound >= 0 && bin.interval.upperBound <= 1)
        }
        let few = try #require(ModelCheck(nil, labels: Array(labels.prefix(19)), journeys: []))
        #expect(few.calibration.isEmpty)
    }

    @Test("has the largest weights first, without the constant")
    func weights() throws {
        let check = try #require(ModelCheck(nil, labels: [], journeys: []))
        #expect(check.weights.first?.feature == "unlocked" && !check.weights.contains { $0.feature == "constant" })
        #expect(zip(check.weights, check.weights.dropFirst()).allSatisfy { abs($0.value) >= abs($1.value) })
        #expect(check.weights.allSatisfy { $0.value != 0 })
    }

    @Test("shows a few sample windows, and none that no phone writes")
    func windows() throws {
        let journeys = [
            Self.journey(wakes: 1, isShown: true, isOpened: false),
            Self.journey(wakes: 3, isShown: true, isOpened: true),
            MomentJourney(campaign: "c", trace: [1, 2], windowMinutes: 360, isShownByPhone: true, isOpened: false),
            Self.journey(wakes: 4, isShown: false, isOpened: false),
        ]
        let check = try #require(ModelCheck(nil, labels: [], journeys: journeys))
        #expect(check.sampleWindows.map(\.wakes.count) == [3, 4])
        let first = try #require(check.sampleWindows.first)
        #expect(first.isShownByPhone && first.isOpened && first.minutes == 360)
        #expect(first.wakes.map(\.minute) == [0, 30, 60])
        #expect(first.wakes.allSatisfy { $0.score < $0.threshold })
        let many = Array(repeating: journeys[1], count: 50)
        #expect(try #require(ModelCheck(nil, labels: [], journeys: many)).sampleWindows.count == 6)
    }

    @Test("is absent for a model that this version cannot read")
    func unknown() {
        let draft = ModelRelease.Draft(
            campaign: "c", version: 1, trainedAt: Timestamp(milliseconds: 0), expiresAt: Timestamp(milliseconds: 1),
            parent: nil, labels: 1, payload: Array("{}".utf8))
        #expect(ModelCheck(ModelRelease(draft, keyID: "m1", signature: []), labels: [], journeys: []) == nil)
    }

    /// A clock on which every look takes a second.
    private final class SlowClock: TimeSource {
        private let seconds = Mutex(0)
        var now: Timestamp { Timestamp(milliseconds: 1_795_219_200_000) }
        var uptime: Duration {
            seconds.withLock {
                $0 += 1
                return .seconds($0)
            }
        }
        var lag: Duration { .zero }
        func sleep(for duration: Duration) async throws {}
    }

    @Test("and the rest of a slow report are computed once, and pages do not wait for them")
    func soon() async throws {
        let file = try await StoreUnderTest.selected.open()
        let store: any Store = file.store
        let app = try await store.write(.control) { store in
            try store.insertApp(
                App(id: AppID(high: 1, low: 1), key: 0, name: "A", createdAt: Timestamp(milliseconds: 0)))
        }
        let reports = ExperimentReports(store: store, time: SlowClock())
        while true {
            if case .made(let report) = try await reports.soon("none", of: app) {
                #expect(report == nil)
                break
            }
            try Task.checkCancellation()
        }
        withExtendedLifetime(file) {}
    }
}
