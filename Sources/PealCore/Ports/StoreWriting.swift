/// What one transaction can change, in the order of `StoreReading`. A transaction sees its own changes.
package protocol StoreWriting: StoreReading {
    /// The store assigns `app.key`; the one passed is ignored.
    /// - Throws: `conflict` when the id is taken.
    func insertApp(_ app: App) throws -> App
    func updateApp(_ app: App) throws
    /// Makes what waits because of the app's rules due soon, so that changed rules are applied to it. `prune` completes
    /// this.
    func reviewWaits(app: AppKey, now: Timestamp) throws
    /// Deletes the app: it disappears immediately, and `prune` deletes its rows. Returns false when there was none.
    func deleteApp(_ key: AppKey, now: Timestamp) throws -> Bool
    /// - Parameter end: when `prune` may delete it; nil for never.
    func setSetting(_ name: String, _ value: [UInt8], until end: Timestamp?) throws
    /// Deletes a setting and returns its value; nil if there is none that has not expired.
    func takeSetting(_ name: String, now: Timestamp) throws -> [UInt8]?

    /// Stores the key with its grants.
    /// - Throws: `conflict` when another key of that dialect has the public half.
    func insertKey(_ key: StoredKey) throws
    /// Deletes a key of the app, or only the app's grant of another app's key. Returns whether there was one.
    func deleteKey(_ id: KeyID, app: AppKey) throws -> Bool

    /// Stores the credential sealed and replaces an earlier one. The store computes the fingerprint.
    func putCredential(
        _ examination: CredentialExamination, at slot: CredentialSlot, now: Timestamp
    ) throws -> CredentialRecord
    func setHealth(_ health: CredentialRecord.Health, at slot: CredentialSlot) throws
    func deleteCredential(at slot: CredentialSlot) throws -> Bool
    /// What waits for another attempt with the credential, which changed or was found to work, is due soon; `prune`
    /// completes it.
    func reviewRetries(at slot: CredentialSlot, now: Timestamp) throws

    /// Registers a device or replaces its registration. A known device keeps its key, and with it its position in
    /// running audiences; topics are applied as a difference. A registration that changes nothing within a minute
    /// writes nothing.
    func register(
        _ registration: DeviceRegistration, app: AppKey, now: Timestamp
    ) throws -> DeviceRegistration.Result
    /// - Returns: whether the device existed.
    func deleteDevice(app: AppKey, id: DeviceID, now: Timestamp) throws -> Bool
    /// Erases a user's devices, their history, moments and experiment arms. Open moments are cancelled; one being sent
    /// remains until it ends. One call erases a bounded number: call it again, each time in a transaction of its own,
    /// until it is complete. If the caller does not, `prune` continues.
    /// - Returns: how many devices this call deleted.
    func deleteUser(app: AppKey, userID: String, now: Timestamp) throws -> (devices: Int, isComplete: Bool)
    /// Subscribes and unsubscribes an existing device. `now` decides whether a message being sent still reaches it.
    func changeTopics(app: AppKey, device: DeviceKey, add: [String], remove: [String], now: Timestamp) throws

    /// Creates the topic or changes its expiry.
    func putTopic(app: AppKey, name: String, expiresAt: Timestamp?, now: Timestamp) throws -> Topic
    /// Creates the topic. A topic that has not expired stays unchanged.
    func makeTopic(
        app: AppKey, name: String, expiresAt: Timestamp?, now: Timestamp
    ) throws -> (topic: TopicEntry, isNew: Bool)
    /// Deletes the topic: it disappears immediately, and `prune` deletes its subscriptions. Returns whether it existed.
    func deleteTopic(app: AppKey, name: String, now: Timestamp) throws -> Bool

    /// Creates the segment or replaces its condition.
    /// - Throws: `conflict` when the app has too many.
    func putSegment(_ segment: Segment, app: AppKey) throws -> (segment: Segment, isNew: Bool)
    /// Returns whether it existed.
    func deleteSegment(app: AppKey, name: String) throws -> Bool

    /// Saves the message or replaces the one of its kind and name.
    /// - Throws: `conflict` when the app has too many of the kind.
    func putSavedMessage(_ message: SavedMessage, app: AppKey) throws -> (message: SavedMessage, isNew: Bool)
    /// Returns whether it existed.
    func deleteSavedMessage(app: AppKey, _ kind: SavedMessage.Kind, name: String) throws -> Bool
    /// Stars a device, so that test messages go to it. A device may be starred twice.
    func star(app: AppKey, device: DeviceKey, now: Timestamp) throws
    func unstar(app: AppKey, device: DeviceKey) throws

    /// Stores the message, in state `scheduled` if it starts later, otherwise in `planning`. Its id must be new.
    /// - Throws: `not_found` when the app does not exist.
    func insertMessage(_ draft: MessageDraft) throws
    /// Stores a message that starts now, divided as `plan` does. Small ones are leased under `offer`.
    /// - Throws: `not_found` when the app does not exist.
    func insertPlanned(_ draft: MessageDraft, under offer: LeaseOffer?, now: Timestamp) throws -> Plan
    /// Replaces the draft of a scheduled message; its moments start at `now`. Returns false when the message is no
    /// longer scheduled.
    func replaceDraft(_ draft: MessageDraft, now: Timestamp) throws -> Bool
    /// Moves a message to `state` if it is in one of the states `from`. Its slices follow: pausing holds them, resuming
    /// releases them, and workers settle those of a cancelled or expired message.
    /// - Parameter failure: why it failed, for its author.
    /// - Returns: the former state; nil when the message was in none of `from`.
    func moveMessage(
        app: AppKey, id: MessageID, from: Set<Message.State>, to state: Message.State, failure: String?, now: Timestamp
    ) throws -> Message.State?

    /// Divides the message into slices and moves it to `sending`, or to `sent` when its audience is empty. The slices
    /// of an explicit audience of at most `Limits.directDevicesMax` devices are leased to `owner`, when one is given.
    func plan(app: AppKey, id: MessageID, owner: String?, now: Timestamp) throws -> Plan

    /// Counts the message for each of the devices, once, unless a device got as many as the cap allows.
    /// - Returns: until when the other devices must wait.
    func reserve(
        _ keys: [DeviceKey], app: AppKey, message: MessageID, cap: FrequencyCap, now: Timestamp
    ) throws -> [DeviceKey: Timestamp]
    /// Stops counting the message for devices to which it was not sent.
    func uncount(_ keys: [DeviceKey], app: AppKey, message: MessageID) throws

    /// Takes what the rates of the message and its app (`ofApp`) allow now; without either, everything that is wanted.
    func takeRate(
        app: AppKey, message: MessageID, ofApp: Int64?, wanted: Int, now: Timestamp
    ) throws -> RateGrant
    /// Changes the rate of a message, even while it is being sent; nil removes the limit.
    func setRate(_ perSecond: Int64?, app: AppKey, message: MessageID) throws

    /// Moves messages whose start has passed to `planning`. Returns at most `limit` messages in that state.
    func dueMessages(now: Timestamp, limit: Int) throws -> [(app: AppKey, id: MessageID)]
    /// Makes waiting slices that are due ready. Returns how many.
    func releaseDueSlices(now: Timestamp, limit: Int) throws -> Int
    /// Ends at most `limit` messages that have expired: what has not been sent is settled without being sent. A paused
    /// one that was partly sent resumes for that; one that was not expires immediately. Returns how many there were.
    func endExpiredMessages(now: Timestamp, limit: Int) throws -> Int
    /// Stores a gate, unless the credential that it is about has been replaced.
    /// - Returns: the number of the change; nil when nothing was written.
    func setGate(_ gate: RouteGate) throws -> Int64?
    /// Opens a route, because its configuration changed.
    func openGate(_ route: ActiveRoute) throws
    /// Ends every probe, at the start of the only process.
    func endProbes() throws
    /// Leases slices of one route: those of ended messages first, then ready ones in order of lane and rank. On a
    /// closed route it leases ready slices only if a probe is due: one slice of each of up to `Limits.probeMessagesMax`
    /// messages, continuing after those of the last probe.
    func lease(
        _ route: ActiveRoute, limit: Int, owner: String, until: Timestamp, now: Timestamp
    ) throws -> [Slice]
    /// Quarantines slices of a route that cannot be read, so that the others can be leased. Examines at most `limit`
    /// ready ones and as many of ended messages, those that would be leased first.
    func quarantineUnreadable(on route: ActiveRoute, limit: Int) throws -> [UnreadableSlice]
    /// Extends the leases that `owner` still holds, and returns these.
    func extendLeases(_ leases: [Slice.Lease], owner: String, until: Timestamp) throws -> [Slice.Lease]
    /// Ends leases that expired before `now` or end much later than one that is taken now, because the clock was set
    /// back, except `kept`; nil ends all leases, for example at the start of the only process. Holders other than
    /// `process`, which has just started, may have sent to the next devices: those are in doubt.
    /// - Returns: how many leases ended.
    func takeBackLeases(
        endedBefore now: Timestamp?, keeping kept: Set<Slice.Lease>, by process: String?
    ) throws -> Int
    /// Applies each settlement whose lease still holds. One that fails does not affect the others.
    func settle(_ settlements: [Settlement], now: Timestamp) throws -> [Settlement.Result]
    /// Takes a slice out of work because this settlement of it cannot be stored: writes what can be, without the row of
    /// the log, and marks the slice with `reason`.
    /// - Parameter keepsAnswers: Whether cursor, counts and deferrals are stored. Otherwise only the mark is, and the
    ///   devices are in doubt.
    func quarantine(
        _ settlement: Settlement, reason: String, keepsAnswers: Bool, now: Timestamp
    ) throws -> Settlement.Result
    /// Stores what is known about further devices of a slice that was quarantined under the same lease, without the row
    /// of the log. Changes nothing if the slice has been resumed or was leased again because its message has ended.
    /// - Parameter keepsAnswers: Whether cursor, counts and deferrals are stored. If not, or if the slice's cursor is
    ///   elsewhere, the devices are in doubt.
    /// - Returns: whether the answers are stored.
    func addToQuarantine(_ settlement: Settlement, keepsAnswers: Bool, now: Timestamp) throws -> Bool
    /// Records that the server `name` is running. Returns how many servers that send, including this one, were seen at
    /// `start` or later.
    func recordServer(_ name: String, now: Timestamp, seenSince start: Timestamp) throws -> Int
    /// Removes a server that is stopping.
    func removeServer(_ name: String) throws
    /// The token that all servers use under `name`: the stored one, if it was issued at `oldest` or later and not after
    /// `now`; otherwise `offer`, which it stores.
    func agreeOnToken(_ offer: SharedToken, name: String, oldest: Timestamp, now: Timestamp) throws -> SharedToken
    /// Releases the quarantined slices of a message, at most 1,000. Returns how many there were.
    func resumeQuarantined(app: AppKey, id: MessageID) throws -> Int
    /// Ends the quarantined slices of messages that have ended, of at most `limit` messages. Returns how many slices.
    func endQuarantined(limit: Int) throws -> Int

    /// Applies `event` as one compare-and-set, together with what follows from it: the alert's slice, webhook events,
    /// the message's state.
    /// - Returns: the step taken; nil when another process was faster.
    func apply(_ event: MomentEvent, to moment: Moment, now: Timestamp) throws -> MomentStep?
    /// Cancels a message's open moments and asks the devices that claimed one to drop it. Returns how many were
    /// cancelled.
    func cancelMoments(app: AppKey, message: MessageID, now: Timestamp) throws -> Int
    /// Removes the name of a moment, so that another message can use it.
    func releaseName(of moment: Moment.ID) throws
    /// Sends moments that are due, at most `limit`. Returns how many. In its user's quiet hours, a moment waits for
    /// their end, at most until its window ends.
    func fireDueMoments(now: Timestamp, limit: Int, quiet: QuietClock) throws -> Int
    /// Revokes claims that have expired, at most `limit`. Returns how many.
    func endDueClaims(now: Timestamp, limit: Int) throws -> Int
    /// Makes the first moment in that state, which is `open` or `claimed`, due later, because it cannot be read.
    /// - Returns: its message as far as it can be read; nil when none is due.
    func postponeDueMoment(_ state: Moment.State, to later: Timestamp, now: Timestamp) throws -> String?

    /// Stores the installation, replacing an earlier one of its device.
    func putInstallation(_ installation: Installation) throws
    /// Installations that are due for a wake-up push, the longest overdue first.
    func dueInstallations(now: Timestamp, limit: Int) throws -> [Installation]
    /// Makes the first wake-up due later, because its device cannot be read.
    /// - Returns: which it is; nil when none is due.
    func postponeDueWake(to later: Timestamp, now: Timestamp) throws -> String?
    /// Keeps the wake-ups that a device received at its current address, for the device that registers the address
    /// next.
    func keepSpentWakes(of device: DeviceKey, app: AppKey, now: Timestamp) throws
    /// Reports to webhooks that a device became reachable or unreachable.
    func report(_ transition: DeviceTransition, id: OutboxEventID) throws

    /// Ends a run of an experiment and begins one with another share.
    /// - Returns: false if `run` is not the current one.
    func changeShare(_ change: ShareChange, after run: ExperimentRun, of campaign: String, app: AppKey) throws -> Bool
    /// The public keys of an app's models. Creates the first one.
    func provideModelKeys(app: AppKey, now: Timestamp) throws -> [ModelKey]
    /// Signs a model and stores it as the newest of its campaign.
    /// - Throws: `conflict` unless its version is higher than all others.
    func issueModel(_ draft: ModelRelease.Draft, app: AppKey, now: Timestamp) throws -> ModelRelease
    func putLearning(_ learning: CampaignLearning, app: AppKey) throws
    /// Takes the turn to train the app's models.
    /// - Returns: false if another server did so recently.
    func beginLearning(app: AppKey, now: Timestamp) throws -> Bool

    /// Stores events of a device that are new.
    /// - Returns: for each event, whether it was new.
    func record(_ events: [DeviceEvent], app: AppKey, device: DeviceKey, now: Timestamp) throws -> [Bool]
    /// Counts that a user opened a notification or the app, at an hour of the user's own day.
    func countOpen(app: AppKey, userID: String, hour: Int) throws
    /// Stores receipts that are new: the first of each kind per device. The messages must exist. Returns how many were
    /// new.
    @discardableResult
    func record(_ receipts: [Receipt], app: AppKey) throws -> Int
    /// Returns how many were new.
    @discardableResult
    func record(_ triggers: [GeofenceTrigger], app: AppKey) throws -> Int

    /// Creates the webhook, or changes the one with that name and enables it again. The store assigns `key`. A webhook
    /// of another kind is a new one: waiting events and deliveries of the former are deleted.
    func putWebhook(_ webhook: Webhook) throws -> (webhook: Webhook, isNew: Bool)
    /// Deletes the webhook with its waiting events and deliveries. Returns whether it existed.
    func deleteWebhook(app: AppKey, name: String, now: Timestamp) throws -> Bool
    /// Disables a webhook whose receiver is gone: waiting events are deleted and pending deliveries fail as `Disabled`.
    func disableWebhook(_ reference: WebhookReference, now: Timestamp) throws
    /// Retries a failed delivery, and a pending one without waiting.
    /// - Returns: nil when it does not exist, is delivered, or never became a request.
    func retryDelivery(of reference: WebhookReference, id: WebhookDeliveryID, now: Timestamp) throws -> WebhookDelivery?

    /// Queues the event for each enabled webhook of its app with one of `kinds`. Called in the transaction that makes
    /// the event true. Returns the number of webhooks.
    /// - Throws: `internal` when the payload is larger than `Limits.webhookPayloadBytesMax`.
    @discardableResult
    func enqueue(_ event: OutboxEvent, for kinds: [Webhook.Kind]) throws -> Int
    /// Queues an event for one webhook.
    func enqueue(_ event: OutboxEvent, to reference: WebhookReference) throws
    /// Takes events out of the queue and makes them a delivery; a pending one is leased to `owner`.
    /// - Parameter body: nil for a delivery that failed before its request was written.
    /// - Returns: nil when another process took one of the events: the caller must undo its transaction.
    func cut(
        _ events: [OutboxEvent], into delivery: WebhookDelivery, body: [UInt8]?, owner: String, until: Timestamp
    ) throws -> LeasedDelivery?
    /// Fails what a webhook cannot be sent because it cannot be read, so that it does not stop the rest: the first
    /// events and pending deliveries are examined, at most `limit` of each.
    /// - Parameter newID: makes the ids of the failed deliveries.
    /// - Returns: the damaged rows' ids in hexadecimal.
    func failUnreadable(
        of reference: WebhookReference, limit: Int, now: Timestamp, newID: () -> WebhookDeliveryID
    ) throws -> [String]
    /// Leases due deliveries, the longest overdue first.
    func leaseDeliveries(
        of reference: WebhookReference, limit: Int, owner: String, until: Timestamp, now: Timestamp
    ) throws -> [LeasedDelivery]
    /// Stores `leased.delivery`, the result of an attempt, and ends the lease. Returns whether the lease still held.
    func settle(_ leased: LeasedDelivery) throws -> Bool
    /// Ends all leases of deliveries, at the start of the only process.
    func takeBackDeliveries() throws

    /// - Throws: `invalid_field` for an unknown location.
    func insertGeofence(_ plan: Geofence.Plan, app: AppKey, now: Timestamp) throws -> Geofence
    /// - Returns: nil if it does not exist.
    /// - Throws: `invalid_field` for an unknown location.
    func updateGeofence(_ id: Int64, _ plan: Geofence.Plan, app: AppKey, now: Timestamp) throws -> Geofence?
    /// Deletes a geofence and remembers the deletion until no device can hold it. Returns whether it existed.
    func deleteGeofence(_ id: Int64, app: AppKey, now: Timestamp) throws -> Bool
    func insertLocation(_ circle: GeofenceLocation.Circle, app: AppKey, now: Timestamp) throws -> GeofenceLocation
    /// Changes the location and all geofences that include it.
    /// - Returns: nil if it does not exist.
    func updateLocation(
        _ id: Int64, _ circle: GeofenceLocation.Circle, app: AppKey, now: Timestamp
    ) throws -> GeofenceLocation?
    /// Removes the location from its groups and deletes it. The caller makes sure that no geofence includes it. Returns
    /// whether it existed.
    func deleteLocation(_ id: Int64, app: AppKey) throws -> Bool
    /// - Throws: `invalid_field` for an unknown location.
    func insertLocationGroup(_ plan: LocationGroup.Plan, app: AppKey, now: Timestamp) throws -> LocationGroup
    /// - Returns: nil if it does not exist.
    /// - Throws: `invalid_field` for an unknown location.
    func updateLocationGroup(
        _ id: Int64, _ plan: LocationGroup.Plan, app: AppKey, now: Timestamp
    ) throws -> LocationGroup?
    func deleteLocationGroup(_ id: Int64, app: AppKey) throws -> Bool

    /// The answer that this request received before; nil when there is none within the request's `lifeSeconds`.
    func keptAnswer(_ request: IdempotentRequest, now: Timestamp) throws -> KeptAnswer?
    func keepAnswer(_ answer: KeptAnswer, to request: IdempotentRequest, now: Timestamp) throws

    func audit(_ entry: AuditEntry) throws

    func insertAdmin(_ admin: Admin, publicHalf: String, secretHash: [UInt8]) throws
    /// - Returns: the admin that was deleted.
    func deleteAdmin(_ id: AdminID) throws -> Admin?
    /// Stores when keys and admins were last used, unless a later time is stored.
    func noteUse(keys: [KeyID: Timestamp], admins: [AdminID: Timestamp]) throws

    /// Deletes rows whose retention has ended, completes what requests began, and makes due what has waited since
    /// before the clock was set back: at most about `limit` rows.
    /// - Parameters:
    ///   - steps: the kinds of work, in their order.
    ///   - skipped: for each kind of work, the last message to skip, because it and earlier ones fail.
    /// - Returns: how many rows were changed; 0 when nothing is left to do now.
    func prune(
        _ steps: [PruneStep], now: Timestamp, limit: Int, after skipped: [PruneStep: PruneCursor]
    ) throws -> Int
    /// Postpones the first change that the Pruner would complete, because it fails.
    /// - Returns: which it is; nil when none is due.
    func postponeRemainder(to later: Timestamp, now: Timestamp) throws -> String?
}

extension StoreWriting {
    /// A setting that does not expire.
    package func setSetting(_ name: String, _ value: [UInt8]) throws { try setSetting(name, value, until: nil) }
}

extension StoreWriting {
    package func moveMessage(
        app: AppKey, id: MessageID, from: Set<Message.State>, to state: Message.State, now: Timestamp
    ) throws -> Message.State? {
        try moveMessage(app: app, id: id, from: from, to: state, failure: nil, now: now)
    }
}

/// A kind of work of `StoreWriting.prune`, in the order in which it is done.
package enum PruneStep: String, CaseIterable, Sendable {
    case remainders, answers, outcomes, messages, devices, topics, geofences, audit, webhooks, statistics, frequency
    case events, settings, models, figures, spentWakes, aheadOfTime

    /// Whether it is done message by message, so that messages can be skipped.
    package var isOfMessages: Bool { self == .outcomes || self == .messages }
    /// Whether it deletes data because of its age.
    package var isOfAge: Bool { self != .remainders && self != .aheadOfTime }
}

/// The position of a message in the order in which one kind of work of `StoreWriting.prune` processes messages. Adding
/// or deleting others does not change it.
package struct PruneCursor: Sendable, Hashable {
    package let app: AppKey
    /// The id as it is stored, which may be unreadable.
    package let message: [UInt8]
    /// When the message ended, or its window.
    package let at: Timestamp

    package init(app: AppKey, message: [UInt8], at: Timestamp) {
        self.app = app
        self.message = message
        self.at = at
    }
}
