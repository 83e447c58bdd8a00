/// How far all messages of a campaign have come, as one sum.
package struct CampaignReport: Sendable, Hashable {
    /// As the author calls the campaign.
    package let id: String
    package var messages = 0
    package var total = OutcomeCounts()
    /// How many devices told each kind of fact, summed over the messages.
    package var receipts: [Receipt.Kind: Int] = [:]

    package init(id: String) { self.id = id }

    /// Devices that the push networks did not take, or that nothing was sent to.
    package var failed: Int { total.settled - total.accepted }
}
