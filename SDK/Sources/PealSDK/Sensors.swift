internal import Foundation
public import PealMoments

/// Reads what the phone senses at a wake. Conformers: `PhoneSensors` on Apple's systems; simulated ones in tests and in
/// `peal-sim`.
public protocol Sensors: Sendable {
    /// The current signals, within half a second. Raw samples do not leave this function.
    func read() async -> Signals
}

/// Sensors of a device that has none.
public struct NoSensors: Sensors {
    /// Sensors that read nothing.
    public init() {}

    public func read() async -> Signals { Signals() }
}

/// Half a second of acceleration, reduced to the three facts that the model knows.
struct MotionWindow: Sendable {
    /// In units of gravity; z points out of the screen.
    struct Sample: Sendable {
        let x: Double
        let y: Double
        let z: Double

        var magnitude: Double { (x * x + y * y + z * z).squareRoot() }
    }

    static let hertz = 25.0
    static let sampleCount = 13

    /// Steps shake the phone by more than this, in g; an engine by less.
    private static let walkingDeviation = 0.12
    /// A phone on a table shakes by less than this.
    private static let restingDeviation = 0.008

    let samples: [Sample]

    /// Whether the phone moves as in a walking person's hand or pocket; nil with too few samples.
    var isWalking: Bool? { deviation.map { $0 > Self.walkingDeviation } }

    /// Whether it trembles as in a vehicle: more than on a table, less than in a hand, and quicker than a hand.
    var isInVehicle: Bool? {
        deviation.map { $0 > Self.restingDeviation && $0 <= Self.walkingDeviation && crossingsPerSecond > 10 }
    }

    /// Whether it lies with its screen down.
    var isFaceDown: Bool? {
        guard samples.count >= Self.sampleCount / 2 else { return nil }
        return samples.reduce(0) { $0 + $1.z } / Double(samples.count) > 0.8
    }

    private var mean: Double { samples.reduce(0) { $0 + $1.magnitude } / Double(max(samples.count, 1)) }

    private var deviation: Double? {
        guard samples.count >= Self.sampleCount / 2 else { return nil }
        let mean = mean
        let squares = samples.reduce(0) { $0 + ($1.magnitude - mean) * ($1.magnitude - mean) }
        return (squares / Double(samples.count)).squareRoot()
    }

    /// How often the magnitude crosses its mean: twice the dominant frequency.
    private var crossingsPerSecond: Double {
        let mean = mean
        let signs = samples.map { $0.magnitude > mean }
        let crossings = zip(signs, signs.dropFirst()).count { $0 != $1 }
        return Double(crossings) * Self.hertz / Double(max(samples.count - 1, 1))
    }
}
