/// A message and how far it has come.
package struct MessageReport: Sendable, Hashable {
    package var message: Message
    /// Settled counts and estimates of what is pending, per platform.
    package var platforms: [Platform: OutcomeCounts]

    package init(message: Message, platforms: [Platform: OutcomeCounts]) {
        self.message = message
        self.platforms = platforms
    }

    package var total: OutcomeCounts {
        platforms.values.reduce(into: OutcomeCounts()) { $0.add($1) }
    }
}
