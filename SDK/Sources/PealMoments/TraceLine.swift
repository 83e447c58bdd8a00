internal import Foundation

/// What was computed for a soft message at one wake, in 5 bytes, so that another model can be judged by what this one
/// did. Each line is followed by the context of its wake (`ContextSnapshot`), 21 bytes in all.
public struct TraceLine: Sendable, Hashable {
    /// The bytes of a line without its context.
    public static let byteCount = 5

    /// Minutes since the start of the message's window.
    public let minute: Int
    /// Probability of an open, value of waiting, and chance of being shown.
    public let probability: Double
    public let threshold: Double
    public let chance: Double

    /// Encodes a wake's trace, and appends its context.
    public static func encode(_ trace: WakeTrace, start: Int64, now: Int64, context: [UInt8]) -> [UInt8] {
        let minute = UInt16(min(max((now - start) / 60_000, 0), 65_535))
        return [
            UInt8(minute & 0xFF), UInt8(minute >> 8), logOdds(trace.probability), logOdds(trace.threshold),
            byte(chance: trace.chance),
        ] + context
    }

    /// - Parameter bytes: at least `byteCount`.
    init(_ bytes: ArraySlice<UInt8>) {
        let first = bytes.startIndex
        minute = Int(bytes[first]) | Int(bytes[first + 1]) << 8
        probability = Logistic.probability(Double(bytes[first + 2]) / 16 - 8)
        threshold = Logistic.probability(Double(bytes[first + 3]) / 16 - 8)
        chance = Self.chance(bytes[first + 4])
    }

    private static func logOdds(_ probability: Double) -> UInt8 {
        let clipped = min(max(probability, 1e-6), 1 - 1e-6)
        return UInt8(min(max((Logistic.logit(clipped) + 8) * 16, 0), 255).rounded())
    }

    /// 0 and 255 for never and always, and log-odds in between: later a message is weighted by the inverse, so small
    /// chances must be as precise as large ones.
    private static func byte(chance: Double) -> UInt8 {
        guard chance > 0 else { return 0 }
        guard chance < 1 else { return 255 }
        return UInt8(min(max((Logistic.logit(chance) * 24 + 128).rounded(), 1), 254))
    }

    private static func chance(_ byte: UInt8) -> Double {
        switch byte {
        case 0: 0
        case 255: 1
        default: Logistic.probability((Double(byte) - 128) / 24)
        }
    }
}

/// A wake at which a soft message was considered: what was computed, and in which context.
public struct TracedWake: Sendable {
    /// The bytes of a line with its context.
    public static let byteCount = TraceLine.byteCount + ContextSnapshot.byteCount

    public let line: TraceLine
    public let context: ContextSnapshot

    /// Decodes a trace; nil for one without contexts, such as an older SDK reports of messages that are not soft, or
    /// with those of another schema.
    public static func wakes(_ bytes: [UInt8]) -> [Self]? {
        guard bytes.count.isMultiple(of: byteCount) else { return nil }
        var wakes: [Self] = []
        for index in stride(from: 0, to: bytes.count, by: byteCount) {
            let middle = index + TraceLine.byteCount
            guard let context = ContextSnapshot(bytes: Array(bytes[middle..<index + byteCount])) else { return nil }
            wakes.append(Self(line: TraceLine(bytes[index..<middle]), context: context))
        }
        return wakes
    }
}
