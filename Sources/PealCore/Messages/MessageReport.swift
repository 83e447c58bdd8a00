/// A message and its progress.
package struct MessageReport: Sendable, Hashable {
    package var message: Message
    /// Counts of settled devices and estimates of pending ones, by platform.
    package var platforms: [Platform: OutcomeCounts]
    /// How many devices reported each kind of receipt.
    package var receipts: [Receipt.Kind: Int]
    /// Title and audience in one line each, if requested.
    package var overview: MessageOverview?
    /// The original request, if requested.
    package var draft: MessageDraft?

    package init(
        message: Message, platforms: [Platform: OutcomeCounts], receipts: [Receipt.Kind: Int] = [:]
    ) {
        self.message = message
        self.platforms = platforms
        self.receipts = receipts
    }

    /// Whether the message was sent and its audience had no device. A message with a delivery window counts users,
    /// including those without a device.
    package var isEmpty: Bool {
        guard message.state == .sent else { return false }
        let total = total
        return total.devices == (message.windowUntil == nil ? 0 : total.reasons[Reason.noDevice] ?? 0)
    }

    package var total: OutcomeCounts {
        platforms.values.reduce(into: OutcomeCounts()) { $0.add($1) }
    }
}

/// The progress of all messages of a campaign as one total.
package struct CampaignReport: Sendable, Hashable {
    /// The author's name for the campaign.
    package let id: String
    package var messages = 0
    package var total = OutcomeCounts()
    /// The number of devices that reported each kind of receipt, over all messages.
    package var receipts: [Receipt.Kind: Int] = [:]

    package init(id: String) { self.id = id }

    /// Devices for which the push network refused the message, or to which nothing was sent.
    package var failed: Int { total.settled - total.accepted }

    /// Counts one more of its messages.
    package mutating func add(_ message: MessageReport) {
        messages += 1
        total.add(message.total)
        receipts.merge(message.receipts, uniquingKeysWith: +)
    }
}

/// Everything that the report of an ended message needs.
package struct MessageFacts: Sendable, Hashable {
    /// The app, for its ids in the dialects.
    package var app: App
    /// The message and its counts by platform. Some dialects call the retired devices deletions.
    package var report: MessageReport
    /// What the message's dialect kept of the request (`MessageDraft.source`).
    package var source: [UInt8]?

    package init(app: App, report: MessageReport, source: [UInt8]?) {
        self.app = app
        self.report = report
        self.source = source
    }
}
