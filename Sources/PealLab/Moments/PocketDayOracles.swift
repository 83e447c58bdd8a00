import Foundation
import PealMoments
import PealWorlds

/// The limits of PocketDay, computed with its true parameters.
struct PocketDayOracles {
    /// Activity × phone in use.
    static let states = PocketDay.activityCount * 2
    /// Bins of the score in the oracle's own table.
    private static let bins = 12

    let trial: PocketDayTrial
    /// Probability of each state one wake later: `(hour × states + from) × states + to`, by the hour of the person's
    /// day.
    private let transitions: [Double]
    /// Probability of each state: `hour × states + state`.
    private let shares: [Double]

    init(_ trial: PocketDayTrial) {
        self.trial = trial
        let states = Self.states
        var moves = [Double](repeating: 0.05, count: 24 * states * states)
        var counts = [Double](repeating: 1e-6, count: 24 * states)
        let (world, stride) = (trial.world, trial.settings.stride)
        for person in world.citizens.indices {
            for slot in 0..<14 * PocketDay.slotsPerDay - stride {
                let hour = Self.ownHour(world, person, slot)
                let from = Self.state(world, person, slot)
                moves[(hour * states + from) * states + Self.state(world, person, slot + stride)] += 1
                counts[hour * states + from] += 1
            }
        }
        transitions = Self.normalized(moves, row: states)
        shares = Self.normalized(counts, row: states)
    }

    /// Knows the hidden state at every wake that arrives, and the probabilities of its transitions.
    func latent() -> [Int] {
        let (test, campaign, world) = (trial.test, trial.campaign, trial.world)
        let effects = (0..<Self.states).map { state -> Double in
            let use = state % 2 == 1 ? campaign.use : 0
            // The mean over commutes with and without headphones.
            let headphones = state / 2 == 1 ? campaign.headphones * Emission.headphones[1] : 0
            return campaign.activities[state / 2] + use + headphones
        }
        return (0..<test.count).map { message in
            let person = test.people[message]
            let slots = (0..<test.wakeCount).map { test.slot(message, $0) }
            let values = waitingValues(person, slots, effects)
            for wake in 0..<test.wakeCount - 1 where test.arrived[message * test.wakeCount + wake] {
                let waiting = values[wake * Self.states + Self.state(world, person, slots[wake])]
                if trial.probabilities[message * test.wakeCount + wake] >= waiting { return wake }
            }
            return test.wakeCount - 1
        }
    }

    /// The value of waiting at each wake in each state.
    private func waitingValues(_ person: Int, _ slots: [Int], _ effects: [Double]) -> [Double] {
        let (states, arrival) = (Self.states, trial.settings.arrival)
        let last = slots.count - 1
        let blind = trial.campaign.known(trial.world, person, slots[last])
        var value = effects.map { Logistic.probability(blind + $0) }
        var values = [Double](repeating: 0, count: slots.count * states)
        for wake in (0..<last).reversed() {
            let known = trial.campaign.known(trial.world, person, slots[wake])
            let row = Self.ownHour(trial.world, person, slots[wake]) * states
            var next = value
            for state in 0..<states {
                var waiting = 0.0
                for to in 0..<states { waiting += transitions[(row + state) * states + to] * value[to] }
                values[wake * states + state] = waiting
                let now = Logistic.probability(known + effects[state])
                next[state] = arrival * max(now, waiting) + (1 - arrival) * waiting
            }
            value = next
        }
        return values
    }

    /// Knows the future: chooses the best wake that arrives, or the deadline.
    func prophet() -> [Int] {
        let test = trial.test
        return (0..<test.count).map { message in
            let row = message * test.wakeCount
            return (0..<test.wakeCount).filter { test.arrived[row + $0] || $0 == test.wakeCount - 1 }
                .max { trial.probabilities[row + $0] < trial.probabilities[row + $1] } ?? test.wakeCount - 1
        }
    }

    /// The limit of every method on the phone: true parameters, a Bayes filter over all that can be sensed, and optimal
    /// stopping, with or without memory of the score, whichever does better.
    func observable() -> [Int] {
        let test = trial.test
        var random = WorldRandom(seed: trial.settings.seed, stream: 77)
        let sampled = random.sample(6000, below: trial.training.count)
        let (known, filtered) = (knownScores(test, Array(0..<test.count)), filter(test, Array(0..<test.count)))
        let table = OracleTable(
            filter(trial.training, sampled), bins: Self.bins, wakeCount: test.wakeCount,
            hours: sampled.flatMap { message in
                (0..<test.wakeCount).map { Int(PocketDay.hour(trial.training.slot(message, $0))) }
            })
        let candidates = [false, true].map { hasMemory in
            table.choose(trial, known: known, filtered: filtered, hasMemory: hasMemory)
        }
        return candidates.max { trial.lift(trial.values($0)) < trial.lift(trial.values($1)) } ?? []
    }

    private func knownScores(_ windows: TrialWindows, _ messages: [Int]) -> [Double] {
        messages.flatMap { message in
            (0..<windows.wakeCount).map {
                trial.campaign.known(trial.world, windows.people[message], windows.slot(message, $0))
            }
        }
    }

    /// The filtered part of the score at every wake, had it arrived; only wakes that do arrive are remembered.
    private func filter(_ windows: TrialWindows, _ messages: [Int]) -> [Double] {
        let (states, world, campaign) = (Self.states, trial.world, trial.campaign)
        var result: [Double] = []
        result.reserveCapacity(messages.count * windows.wakeCount)
        var belief = [Double](repeating: 0, count: states)
        var moved = belief
        var posterior = belief
        for message in messages {
            let person = windows.people[message]
            for wake in 0..<windows.wakeCount {
                let slot = windows.slot(message, wake)
                if wake == 0 {
                    let row = Self.ownHour(world, person, slot) * states
                    for state in 0..<states { belief[state] = shares[row + state] }
                } else {
                    let row = Self.ownHour(world, person, slot - windows.stride) * states
                    for to in 0..<states { moved[to] = 0 }
                    for from in 0..<states {
                        for to in 0..<states { moved[to] += belief[from] * transitions[(row + from) * states + to] }
                    }
                    swap(&belief, &moved)
                }
                observe(person, slot, belief, &posterior)
                let known = campaign.known(world, person, slot)
                let seen = world.flags[person * PocketDay.slots + slot]
                var probability = 0.0
                for state in 0..<states {
                    let hidden = campaign.hidden(activity: state / 2, using: state % 2 == 1, seen)
                    probability += posterior[state] * Logistic.probability(known + hidden)
                }
                result.append(Logistic.logit(probability) - known)
                if windows.arrived[message * windows.wakeCount + wake] { swap(&belief, &posterior) }
            }
        }
        return result
    }

    /// Bayes' rule with everything that can be sensed in a slot.
    private func observe(_ person: Int, _ slot: Int, _ belief: [Double], _ posterior: inout [Double]) {
        let index = person * PocketDay.slots + slot
        let light = Double(trial.world.brightness[index])
        var sum = 0.0
        let likelihoods = Likelihoods.of(trial.world.flags[index])
        for state in belief.indices {
            let expected = Emission.brightness[state / 2] + (state % 2 == 1 ? 0.12 : 0)
            let distance = (light <= 0 ? min(0, -expected) : light - expected) / 0.15
            posterior[state] = (belief[state] + 1e-9) * likelihoods[state] * exp(-0.5 * distance * distance)
            sum += posterior[state]
        }
        for state in belief.indices { posterior[state] /= sum }
    }

    static func state(_ world: PocketDay, _ person: Int, _ slot: Int) -> Int {
        let index = person * PocketDay.slots + slot
        return Int(world.activities[index]) * 2 + (world.flags[index].contains(.using) ? 1 : 0)
    }

    private static func ownHour(_ world: PocketDay, _ person: Int, _ slot: Int) -> Int {
        Int(PocketDay.wrapped(PocketDay.hour(slot) - world.citizens[person].shift))
    }

    private static func normalized(_ values: [Double], row: Int) -> [Double] {
        var result = values
        for start in stride(from: 0, to: values.count, by: row) {
            let sum = values[start..<start + row].reduce(0, +)
            for index in start..<start + row { result[index] = values[index] / sum }
        }
        return result
    }
}

/// The probability of each combination of flags in each state.
private enum Likelihoods {
    static func of(_ seen: PocketDay.Flags) -> [Double] { table[Int(seen.rawValue >> 1)] }

    /// By the flags without `using`, which no phone sees.
    private static let table: [[Double]] = (0..<512).map { combination in
        let seen = PocketDay.Flags(rawValue: UInt16(combination) << 1)
        return (0..<PocketDayOracles.states).map { likelihood(seen, activity: $0 / 2, using: $0 % 2 == 1) }
    }

    private static func likelihood(_ seen: PocketDay.Flags, activity: Int, using: Bool) -> Double {
        func factor(_ flag: PocketDay.Flags, _ chance: Double) -> Double {
            let bounded = min(max(chance, 1e-3), 1 - 1e-3)
            return seen.contains(flag) ? bounded : 1 - bounded
        }
        var product = factor(.unlocked, using ? Emission.unlockedUsing : Emission.unlockedIdle)
        product *= factor(.vehicle, Emission.vehicle[activity])
        if !seen.contains(.vehicle) { product *= factor(.walking, Emission.walking[activity]) }
        product *= factor(.charging, Emission.charging[activity])
        product *= factor(.wifi, Emission.wifi[activity])
        product *= factor(.headphones, Emission.headphones[activity])
        product *= factor(.silent, Emission.silent[activity])
        if !seen.contains(.unlocked) { product *= factor(.faceDown, Emission.faceDown[activity]) }
        return product
    }
}

/// The oracle's stopping rule: scores in bins, with their probabilities by hour, and by hour and previous bin.
private struct OracleTable {
    private let edges: [Double]
    private let values: [Double]
    private var shares: [Double]
    private var moves: [Double]
    private let bins: Int

    init(_ scores: [Double], bins: Int, wakeCount: Int, hours: [Int]) {
        let sorted = scores.sorted()
        let edges = (1..<bins).map { sorted[$0 * sorted.count / bins] }
        let binOf = scores.map { score in edges.firstIndex { score <= $0 } ?? bins - 1 }
        var (sums, counts) = ([Double](repeating: 0, count: bins), [Double](repeating: 1e-9, count: bins))
        var shares = [Double](repeating: 1, count: 24 * bins)
        var moves = [Double](repeating: 0, count: 24 * bins * bins)
        var overall = [Double](repeating: 0.1, count: bins * bins)
        for (index, bin) in binOf.enumerated() {
            sums[bin] += scores[index]
            counts[bin] += 1
            shares[hours[index] * bins + bin] += 1
            guard index % wakeCount < wakeCount - 1 else { continue }
            moves[(hours[index] * bins + bin) * bins + binOf[index + 1]] += 1
            overall[bin * bins + binOf[index + 1]] += 1
        }
        func normalize(_ values: inout [Double]) {
            for start in stride(from: 0, to: values.count, by: bins) {
                let sum = values[start..<start + bins].reduce(0, +)
                for index in start..<start + bins { values[index] /= sum }
            }
        }
        normalize(&shares)
        normalize(&overall)
        for index in moves.indices { moves[index] += 20 * overall[index % (bins * bins)] }
        normalize(&moves)
        (self.edges, self.shares, self.moves, self.bins) = (edges, shares, moves, bins)
        values = zip(sums, counts).map { $0 / $1 }
    }

    func choose(_ trial: PocketDayTrial, known: [Double], filtered: [Double], hasMemory: Bool) -> [Int] {
        let (test, arrival) = (trial.test, trial.settings.arrival)
        var waiting = [Double](repeating: 0, count: test.wakeCount * bins)
        return (0..<test.count).map { message in
            let row = message * test.wakeCount
            let hours = (0..<test.wakeCount).map { Int(PocketDay.hour(test.slot(message, $0))) }
            let last = test.wakeCount - 1
            var value = values.map { Logistic.probability(known[row + last] + $0) }
            for wake in (0..<last).reversed() {
                for bin in 0..<bins {
                    var sum = 0.0
                    let from = hasMemory ? (hours[wake] * bins + bin) * bins : hours[wake + 1] * bins
                    for to in 0..<bins { sum += (hasMemory ? moves[from + to] : shares[from + to]) * value[to] }
                    waiting[wake * bins + bin] = sum
                }
                for bin in 0..<bins {
                    let later = waiting[wake * bins + bin]
                    let now = Logistic.probability(known[row + wake] + values[bin])
                    value[bin] = arrival * max(now, later) + (1 - arrival) * later
                }
            }
            for wake in 0..<last where test.arrived[row + wake] {
                let score = filtered[row + wake]
                let bin = edges.firstIndex { score <= $0 } ?? bins - 1
                if Logistic.probability(known[row + wake] + score) >= waiting[wake * bins + bin] { return wake }
            }
            return last
        }
    }
}
