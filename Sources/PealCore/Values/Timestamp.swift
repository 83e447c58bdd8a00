/// An instant as milliseconds since 1970-01-01T00:00:00Z.
package struct Timestamp: Hashable, Comparable, Sendable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }
    /// What lies beyond the range becomes its end.
    package init(seconds: Int64) { milliseconds = seconds.saturated(multipliedBy: 1000) }

    /// Whole seconds, rounded down.
    package var seconds: Int64 { milliseconds.floorDivided(by: 1000) }

    package static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }
    package static func + (left: Self, right: Duration) -> Self {
        Timestamp(milliseconds: left.milliseconds.saturated(adding: right.milliseconds))
    }
    package static func - (left: Self, right: Duration) -> Self {
        Timestamp(milliseconds: left.milliseconds.saturated(subtracting: right.milliseconds))
    }
    package static func - (left: Self, right: Self) -> Duration {
        .milliseconds(left.milliseconds.saturated(subtracting: right.milliseconds))
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero; what lies beyond the range of Int64 becomes its end.
    package var milliseconds: Int64 {
        components.seconds.saturated(multipliedBy: 1000)
            .saturated(adding: components.attoseconds / 1_000_000_000_000_000)
    }
}
