import Foundation
import PealMoments
import Testing

@testable import PealMomentTraining

@Suite("Learning situations")
struct SituationLearningTests {
    /// Wakes of people who sleep at night, charging in the dark, and travel by day.
    private static func wakes(_ count: Int, seed: UInt64 = 5) -> (wakes: LoggedWakes, isAsleep: [Bool]) {
        var chance = Chance(seed)
        var sensed = FeatureMatrix(width: FeatureSchema.sensedCount)
        var (hours, isAsleep) = ([OwnHour](), [Bool]())
        for _ in 0..<count {
            let hour = Int(chance.unit() * 24)
            let sleeps = chance.unit() < (hour < 8 ? 0.9 : 0.1)
            var signals = Signals()
            signals.isUnlocked = chance.unit() < (sleeps ? 0.02 : 0.5)
            signals.isCharging = chance.unit() < (sleeps ? 0.8 : 0.1)
            signals.isInVehicle = chance.unit() < 0.1 ? nil : chance.unit() < (sleeps ? 0.01 : 0.6)
            signals.isOnWiFi = chance.unit() < (sleeps ? 0.95 : 0.2)
            signals.brightness = max(0, (sleeps ? 0.1 : 0.6) + 0.1 * chance.normal())
            sensed.append(FeatureSchema.sensed(signals)[...])
            hours.append(OwnHour(hour: hour, isWeekend: chance.unit() < 0.3))
            isAsleep.append(sleeps)
        }
        return (LoggedWakes(sensed: sensed, ownHours: hours), isAsleep)
    }

    @Test("distinguishes what people do without labels")
    func separates() throws {
        let learned = try #require(Situations(learningFrom: Self.wakes(4000).wakes))
        let (wakes, isAsleep) = Self.wakes(1000, seed: 6)
        // By the majority among the wakes of a situation.
        var counts = [[Int]](repeating: [0, 0], count: Situations.count)
        for row in isAsleep.indices {
            let shares = learned.probabilities(wakes.sensed[row], at: wakes.ownHours[row])
            let situation = shares.indices.max { shares[$0] < shares[$1] } ?? 0
            counts[situation][isAsleep[row] ? 1 : 0] += 1
        }
        let told = counts.map { max($0[0], $0[1]) }.reduce(0, +)
        #expect(told > 960, "\(counts)")
    }

    @Test("gives the same situations for the same wakes")
    func repeats() {
        let wakes = Self.wakes(1500).wakes
        #expect(Situations(learningFrom: wakes) == Situations(learningFrom: wakes))
    }

    @Test("needs a thousand wakes, and survives wakes without a signal")
    func few() throws {
        #expect(Situations(learningFrom: Self.wakes(999).wakes) == nil)
        var sensed = FeatureMatrix(width: FeatureSchema.sensedCount)
        for _ in 0..<1000 { sensed.append(FeatureSchema.sensed(Signals())[...]) }
        let hours = (0..<1000).map { OwnHour(hour: $0 % 24, isWeekend: false) }
        let learned = try #require(Situations(learningFrom: LoggedWakes(sensed: sensed, ownHours: hours)))
        #expect(learned.probabilities(sensed[0], at: hours[0]).allSatisfy { $0.isFinite })
    }

    @Test("completes features to those of a model")
    func completes() {
        var rows = FeatureMatrix(width: FeatureSchema.measuredCount)
        let person = Person(profile: .neutral, openness: 0)
        let known = FeatureSchema.known(at: LocalTime(hour: 3.5, isWeekend: false), for: person)
        rows.append((known + FeatureSchema.sensed(Signals()))[...])
        let all = Situations.unknown.completing(rows)
        #expect(all.width == FeatureSchema.count && all.count == 1)
        #expect(all[0].suffix(FeatureSchema.situationCount).allSatisfy { abs($0 - 0.125) < 1e-12 })
    }
}
