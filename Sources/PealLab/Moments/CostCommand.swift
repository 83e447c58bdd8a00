internal import ArgumentParser
import Foundation
import PealMomentTraining
import PealMoments
import PealWorlds

/// `peal-lab cost`: what a decision costs a phone, and a training the server.
struct CostCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cost",
        abstract: "Measure the time of score, stopping rule and training, and the size of a model.")

    func run() throws {
        var settings = PocketDayTrial.Settings()
        (settings.people, settings.windowHours) = (200, 12)
        let trial = PocketDayTrial(settings)
        let policy = PhonePolicy(trial)
        let model = try policy.model(labels: trial.labels.count)
        let file = try ModelFile(model, keyID: "m1") { _ in [UInt8](repeating: 7, count: 64) }.bytes()
        var sink = 0.0
        let score = score(model, trial, &sink)
        let rule = rule(model, &sink)
        let profile = seconds(200) {
            sink += HourProfile(openCounts: trial.world.opens(3, before: 14), template: model.template).shift
        }
        let training = training(policy, &sink)
        let situations = seconds(1) {
            sink += Double(Situations(learningFrom: policy.wakes)?.bytes.first ?? 0)
        }
        print(
            String(
                format: "score %.2f µs, stopping rule of 36 wakes %.2f µs, hour profile %.2f ms, "
                    + "training 20000 × 31 %.3f s, situations %.2f s, model file %d bytes", score * 1e6, rule * 1e6,
                profile * 1e3, training, situations, file.count))
        // The sum keeps the compiler from removing the work.
        if sink.isNaN { print("a result was not a number") }
    }

    /// Seconds to compute the score at a wake.
    private func score(_ model: MomentModel, _ trial: PocketDayTrial, _ sink: inout Double) -> Double {
        let person = Person(
            openCounts: trial.world.opens(3, before: 14), template: model.template, audienceOpens: model.audienceOpens)
        let time = LocalTime(hour: 20, isWeekend: false)
        let signals = trial.world.signals(3, 14 * 144 + 120, previous: 14 * 144 + 117)
        return seconds(20_000) {
            sink += model.probability(
                known: FeatureSchema.known(at: time, for: person),
                sensed: FeatureSchema.sensed(signals))
        }
    }

    /// Seconds to look ahead over 36 wakes.
    private func rule(_ model: MomentModel, _ sink: inout Double) -> Double {
        let wakes = (0..<36).map { index in
            StoppingRule.Wake(
                knownScore: -3 + Double(index % 5) / 5, ownHour: OwnHour(hour: index % 24, isWeekend: false))
        }
        return seconds(5000) {
            sink +=
                StoppingRule(wakes: wakes, deadline: wakes[0], table: model.table, arrival: 0.8)
                .continuationValues[0]
        }
    }

    /// Seconds to fit a campaign's weights to 20,000 labels.
    private func training(_ policy: PhonePolicy, _ sink: inout Double) -> Double {
        var rows = FeatureMatrix(width: FeatureSchema.count)
        var opened: [Double] = []
        for index in 0..<20_000 {
            let row = index % policy.labels.features.count
            rows.append(policy.labels.features[row])
            opened.append(policy.labels.opened[row])
        }
        return seconds(1) {
            sink += policy.trainer.weights(CampaignLabels(features: rows, opened: opened))[0]
        }
    }

    private func seconds(_ count: Int, _ work: () -> Void) -> Double {
        let start = ContinuousClock.now
        for _ in 0..<count { work() }
        let elapsed = ContinuousClock.now - start
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) * 1e-18
        return seconds / Double(count)
    }
}
