/// Which messages a listing shows; all conditions given hold. Newest first.
package struct MessageFilter: Sendable, Hashable {
    package var state: Message.State?
    package var campaignID: String?
    package var dialect: APIKey.Dialect?

    package init(state: Message.State? = nil, campaignID: String? = nil, dialect: APIKey.Dialect? = nil) {
        self.state = state
        self.campaignID = campaignID
        self.dialect = dialect
    }
}
