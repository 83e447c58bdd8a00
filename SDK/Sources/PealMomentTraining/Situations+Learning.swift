public import PealMoments

extension Situations {
    /// With fewer wakes, chance would decide what they have in common.
    public static let wakesMin = 1000
    /// More wakes make no relevant difference.
    private static let wakesMax = 20_000
    /// Random beginnings, of which the most likely one is continued.
    private static let starts: UInt64 = 3
    private static let firstRounds = 12
    private static let moreRounds = 28

    /// Finds situations by expectation maximization: within one, signals are independent of each other and of the hour.
    /// Neither labels nor what people really did are needed.
    /// - Returns: nil for too few wakes.
    public init?(learningFrom wakes: LoggedWakes) {
        guard wakes.sensed.count >= Self.wakesMin else { return nil }
        var dice = RepeatableDice(state: 1)
        let picked = dice.sample(Self.wakesMax, below: wakes.sensed.count)
        let sample = WakeSample(wakes, picked)
        var best: SituationMixture?
        for start in 1...Self.starts {
            var mixture = SituationMixture(sample, start: start)
            for _ in 0..<Self.firstRounds { mixture.improve(on: sample) }
            if mixture.likelihood > best?.likelihood ?? -.infinity { best = mixture }
        }
        guard var best else { return nil }
        for _ in 0..<Self.moreRounds { best.improve(on: sample) }
        self = best.situations
    }
}

extension Situations {
    /// Adds the probabilities of situations to rows of known and sensed features: all features of a model.
    public func completing(_ measured: FeatureMatrix) -> FeatureMatrix {
        var rows = FeatureMatrix(width: FeatureSchema.count)
        rows.reserve(measured.count)
        for row in 0..<measured.count {
            let features = measured[row]
            let (known, sensed) = (
                features.prefix(FeatureSchema.knownCount), features.dropFirst(FeatureSchema.knownCount)
            )
            rows.append { $0 += features + probabilities(sensed, at: OwnHour(known: known)).dropFirst() }
        }
        return rows
    }
}

/// Repeatable chance (SplitMix64), so that the same wakes always give the same situations.
struct RepeatableDice {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(max(bound, 1)))
    }

    /// Distinct numbers below `bound`; all of them if there are no more.
    mutating func sample(_ count: Int, below bound: Int) -> [Int] {
        guard count < bound else { return Array(0..<bound) }
        var numbers = Array(0..<bound)
        for index in 0..<count { numbers.swapAt(index, index + below(bound - index)) }
        return Array(numbers.prefix(count))
    }
}
