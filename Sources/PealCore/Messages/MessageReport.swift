/// A message and how far it has come.
package struct MessageReport: Sendable, Hashable {
    package var message: Message
    /// Settled counts and estimates of what is pending, per platform.
    package var platforms: [Platform: OutcomeCounts]
    /// How many devices told each kind of fact.
    package var receipts: [Receipt.Kind: Int]

    package init(
        message: Message, platforms: [Platform: OutcomeCounts], receipts: [Receipt.Kind: Int] = [:]
    ) {
        self.message = message
        self.platforms = platforms
        self.receipts = receipts
    }

    package var total: OutcomeCounts {
        platforms.values.reduce(into: OutcomeCounts()) { $0.add($1) }
    }
}
