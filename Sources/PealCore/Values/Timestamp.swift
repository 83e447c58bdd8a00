/// An instant as milliseconds since 1970-01-01T00:00:00Z.
package struct Timestamp: Hashable, Comparable, Sendable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }
    package init(seconds: Int64) { milliseconds = seconds.multipliedReportingOverflow(by: 1000).partialValue }

    /// Whole seconds, rounded down.
    package var seconds: Int64 { Int64((Double(milliseconds) / 1000).rounded(.down)) }

    package static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }
    package static func + (left: Self, right: Duration) -> Self {
        Timestamp(milliseconds: left.milliseconds + right.milliseconds)
    }
    package static func - (left: Self, right: Duration) -> Self {
        Timestamp(milliseconds: left.milliseconds - right.milliseconds)
    }
    package static func - (left: Self, right: Self) -> Duration {
        .milliseconds(left.milliseconds - right.milliseconds)
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero.
    package var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
