package protocol MessageReading {
    func message(app: AppKey, id: MessageID) throws -> Message?
    func report(app: AppKey, id: MessageID) throws -> MessageReport?
    /// Newest first, from before `cursor`.
    func messages(app: AppKey, _ filter: MessageFilter, before cursor: MessageID?, limit: Int) throws -> [Message]
    /// The names of campaigns that have messages, ascending by bytes, from after `name`.
    func campaignIDs(app: AppKey, after name: String?, limit: Int) throws -> [String]
    func draft(app: AppKey, id: MessageID) throws -> MessageDraft?
    /// A quick guess at how many devices a message to `audience` will reach, per platform.
    func audienceEstimate(
        app: AppKey, _ audience: Audience, environment: Environment?, now: Timestamp
    ) throws -> [Platform: Int]
    /// The exact number at this instant; reads the whole audience.
    func audienceCount(
        app: AppKey, _ audience: Audience, environment: Environment?, now: Timestamp
    ) throws -> [Platform: Int]
}

package protocol MessageWriting {
    /// Makes the message durable, in state `scheduled` where it starts later, else `planning`.
    /// - Throws: `conflict` when the id is taken.
    func insertMessage(_ draft: MessageDraft) throws
    /// Replaces a scheduled message's draft; its moments count from `now`. Returns false when it is no longer
    /// scheduled.
    func replaceDraft(_ draft: MessageDraft, now: Timestamp) throws -> Bool
    /// Moves a message to `state` if it is in one of `from`. Slices follow: pausing holds them, resuming frees them;
    /// cancelled and expired ones are settled by the workers. Returns the state before, nil when the guard failed.
    func moveMessage(
        app: AppKey, id: MessageID, from: Set<Message.State>, to state: Message.State, now: Timestamp
    ) throws -> Message.State?

    /// Cuts the message into slices and sets it sending (or sent, when nobody is in its audience). An explicit audience
    /// of at most `Limits.directDevicesMax` comes back leased to `owner`, when one is given.
    func plan(app: AppKey, id: MessageID, owner: String?, now: Timestamp) throws -> Plan
}

package struct Plan: Sendable {
    package let state: Message.State
    package let leasedSlices: [Slice]

    package init(state: Message.State, leasedSlices: [Slice]) {
        self.state = state
        self.leasedSlices = leasedSlices
    }
}
