internal import ArgumentParser
internal import PealCore

/// A whole message, from a file, from options, or from both.
struct DraftOptions: ParsableArguments {
    @OptionGroup(title: "Audience") var audience: AudienceOptions
    @OptionGroup(title: "Content") var content: ContentOptions
    @OptionGroup(title: "Delivery") var delivery: DeliveryOptions
    @OptionGroup var body: BodyOptions

    func document() throws(CommandFailure) -> JSON {
        try body.body([
            ("audience", try audience.document()), ("content", try content.document()),
            ("options", delivery.options), ("schedule", delivery.schedule),
            ("campaign_id", .text(delivery.campaignID)),
        ])
    }
}
