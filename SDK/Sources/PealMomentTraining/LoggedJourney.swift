internal import Foundation
public import PealMoments

/// A soft message as its phone logged it: every wake at which it was considered, with the probability of being shown
/// there, until it was shown.
public struct LoggedJourney: Sendable {
    /// The wakes in order. If the phone showed the message, it did so at the last one.
    public let wakes: [TracedWake]
    /// From the start of the window to its end, at which the message is shown in any case.
    public let windowMinutes: Int
    /// Whether the phone showed it; otherwise it appeared at the end.
    public let isShown: Bool
    public let opened: Bool

    /// nil without wakes, and for a trace that no phone writes.
    public init?(trace: [UInt8], windowMinutes: Int, isShown: Bool, opened: Bool) {
        guard let wakes = TracedWake.wakes(trace), let last = wakes.last, last.line.minute <= windowMinutes,
            zip(wakes, wakes.dropFirst()).allSatisfy({ $0.line.minute <= $1.line.minute }),
            wakes.allSatisfy({ (0.005...0.995).contains($0.line.chance) })
        else { return nil }
        (self.wakes, self.windowMinutes, self.isShown, self.opened) = (wakes, windowMinutes, isShown, opened)
    }
}

/// One decision at a wake: a model's probability of showing, and what it expects of showing and of waiting.
struct SoftStep: Sendable {
    let chance: Double
    let showing: Double
    let waiting: Double

    init(chance: Double, showing: Double, waiting: Double) {
        (self.chance, self.showing, self.waiting) = (chance, showing, waiting)
    }

    /// - Parameters:
    ///   - score: the log-odds of an open now.
    ///   - margin: by how much they exceed those of waiting.
    init(score: Double, margin: Double) {
        self.init(
            chance: Self.chance(margin), showing: Logistic.probability(score),
            waiting: Logistic.probability(score - margin))
    }

    static func chance(_ margin: Double) -> Double {
        let least = ExplorationDraw.leastChance
        return least + (1 - 2 * least) * Logistic.probability(ExplorationDraw.sharpness * margin)
    }

    /// What the policy expects before it draws.
    var value: Double { chance * showing + (1 - chance) * waiting }
}

extension LoggedJourney {
    /// Log-odds of showing and of waiting at a wake, as a model has them.
    private struct Scores {
        let showing: Double
        let waiting: Double
        var margin: Double { showing - waiting }
    }

    /// Of models, the one that the phone had, by the probabilities that it logged with log-odds in sixteenths; nil if
    /// none fits.
    func model(among models: [MomentModel]) -> MomentModel? {
        models.first { model in
            wakes.allSatisfy { wake in
                abs(model.score(wake.context.features[...]) - Logistic.logit(wake.line.probability)) < 0.04
            }
        }
    }

    /// What the phone decided with its model, and what it would have decided with another one at the same wakes.
    ///
    /// It computes values of waiting with the person's habits, which stay on the phone; here they are known only from
    /// the contexts. So the logged chance says how far the phone was from showing, and the contexts only how much
    /// farther or closer the other model is. Expectations are those of the phone's model in both: another one must not
    /// judge itself.
    func steps(_ own: MomentModel, _ other: MomentModel) -> (own: [SoftStep], other: [SoftStep]) {
        let (before, after) = (scores(own), scores(other))
        var (one, two): ([SoftStep], [SoftStep]) = ([], [])
        for index in wakes.indices {
            let margin = Self.margin(wakes[index].line.chance, estimate: before[index].margin)
            let step = SoftStep(score: before[index].showing, margin: margin)
            let change = after[index].margin - before[index].margin
            one.append(step)
            two.append(SoftStep(chance: SoftStep.chance(margin + change), showing: step.showing, waiting: step.waiting))
        }
        return (one, two)
    }

    /// The difference of log-odds that leads to a chance. Chances near their limits do not say how large it is.
    private static func margin(_ chance: Double, estimate: Double) -> Double {
        let least = ExplorationDraw.leastChance
        let share = min(max((chance - least) / (1 - 2 * least), 1e-6), 1 - 1e-6)
        let margin = Logistic.logit(share) / ExplorationDraw.sharpness
        guard abs(margin) > marginMax else { return margin }
        return margin < 0 ? min(-marginMax, estimate) : max(marginMax, estimate)
    }

    private static let marginMax = 0.7

    private func scores(_ model: MomentModel) -> [Scores] {
        let contexts = wakes.map(\.context)
        guard let first = contexts.first else { return [] }
        let profile = HourProfile(
            tastes: contexts.map { ($0.time.hour, $0.taste.daily, $0.taste.finer) }, shift: first.shift,
            spreads: model.template.spreads)
        let chooser = MomentChooser(
            person: Person(profile: profile, openness: first.openness), arrival: model.arrival,
            utcOffsetSeconds: { _ in 0 })
        // A Saturday or a Monday with the local time of the first wake.
        let day: Int64 = first.time.isWeekend ? 2 : 4
        let start = day * 86_400_000 + Int64(first.time.hour * 3_600_000) - Int64(wakes[0].line.minute) * 60_000
        let held = HeldMessage(
            id: "", model: model, start: start, end: start + Int64(windowMinutes) * 60_000, mode: .soft,
            draw: ExplorationDraw(messageID: "", salt: ""))
        return wakes.map { wake in
            let showing = model.score(wake.context.features[...])
            let rule = chooser.rule(for: held, now: start + Int64(wake.line.minute) * 60_000)
            // A probability that is rounded to 0 or 1 has infinite log-odds.
            let waiting = rule.continuationValues.first.map { Logistic.logit(min(max($0, 1e-12), 1 - 1e-12)) }
            return Scores(showing: showing, waiting: waiting ?? showing)
        }
    }

    /// The doubly robust value of a policy in this message, and the weight of its outcome. At wake t, the policy
    /// expects V_t before it draws, and Q_t of what was done there. What happened corrects its expectations:
    ///
    ///     V₀ + Σ_t ρ_t (V_{t+1} − Q_t)        the last V is the outcome: 1 for an open, otherwise 0
    ///
    /// ρ_t is the product, up to wake t, of the policy's probability of what was done, divided by the logged one; at
    /// most `OffPolicy.ratioMax`.
    /// - Parameter scale: what the policy's expectations are multiplied with, so that on average they are right.
    func value(_ steps: [SoftStep], scale: Double) -> (value: Double, ratio: Double) {
        guard let first = steps.first else { return (0, 1) }
        var (value, ratio) = (scale * first.value, 1.0)
        for (index, step) in steps.enumerated() {
            let logged = wakes[index].line.chance
            let isShownHere = isShown && index == steps.count - 1
            let own = isShownHere ? step.chance / logged : (1 - step.chance) / (1 - logged)
            ratio = min(ratio * own, OffPolicy.ratioMax)
            let outcome = opened ? 1.0 : 0
            let next = index + 1 < steps.count ? scale * steps[index + 1].value : outcome
            value += ratio * (next - scale * (isShownHere ? step.showing : step.waiting))
        }
        return (value, ratio)
    }

    /// What the policy expected of what happened.
    func expected(_ steps: [SoftStep]) -> Double { (isShown ? steps.last?.showing : steps.last?.waiting) ?? 0 }
}
