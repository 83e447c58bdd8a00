package protocol MomentReading {
    func moment(_ place: Moment.Place) throws -> Moment?
    /// The one that has that name; of an app's whole past.
    func moment(app: AppKey, named name: MomentName) throws -> Moment?
    /// Those of a message, by user.
    func moments(app: AppKey, message: MessageID) throws -> [Moment]
    /// A user's open ones, the earliest deadline first: what a device may ask for.
    func openMoments(app: AppKey, userID: String, limit: Int) throws -> [Moment]
    /// How many users of `users` would be reached on which platform; who has no device counts on the first of the
    /// audience's.
    func momentAudience(app: AppKey, _ audience: Audience, environment: Environment?) throws -> [Platform: Int]
}

package protocol MomentWriting {
    /// Applies `event` as one compare-and-set, together with all that goes with it: the alert's slice, the webhooks'
    /// events, the message's state.
    /// - Returns: what it led to; nil where another process was faster.
    func apply(_ event: MomentEvent, to moment: Moment, now: Timestamp) throws -> MomentStep?
    /// Cancels what is open of a message and asks claimants to forget it. Returns how many were cancelled.
    func cancelMoments(app: AppKey, message: MessageID, now: Timestamp) throws -> Int
    /// Sends what is due and takes back claims that ended, at most `limit` of each. Returns how many.
    func fireDueMoments(now: Timestamp, limit: Int) throws -> Int
    /// Takes a user's moments and assignments along: what is open is cancelled, what is under way ends first.
    func eraseMoments(app: AppKey, userID: String, now: Timestamp) throws
    /// Tells webhooks that a device can be reached better or worse.
    func report(_ transition: DeviceTransition, id: OutboxEventID) throws
}
