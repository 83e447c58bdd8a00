package import PealMoments
package import PealWire

/// The state that app and extension share: the device's identity, the messages that it holds and has shown, and the
/// events that it has not reported yet. A value: each method is a step that the caller wraps in a transaction. Times
/// are the server's, in milliseconds since 1970.
package struct Ledger: Sendable, Hashable, Codable {
    /// The device's identity on the server.
    package struct Identity: Sendable, Hashable, Codable {
        package var device: String
        package var deviceToken: String
        package var app: String
        package var modelKeys: [ModelKey]
    }

    /// When to try the server again.
    package struct Pause: Sendable, Hashable, Codable {
        private static let longest: Int64 = 3_600_000
        private static let failuresMax = 12

        private var failures = 0
        /// By the wall clock.
        private var until: Int64 = 0

        package init() {}

        /// The server did not accept a call at that time.
        /// - Parameter seconds: the pause that it asks for; nil for twice the previous one.
        package mutating func begin(at wall: Int64, seconds: Int?) {
            failures = min(failures + 1, Self.failuresMax)
            let delay = Int64(max(seconds ?? 1 << failures, 1)).multipliedReportingOverflow(by: 1000)
            until = wall + (delay.overflow ? Self.longest : min(delay.partialValue, Self.longest))
        }

        /// Whether it is too early for a call. An end beyond the longest pause is from a clock that has been set back.
        package func holds(at wall: Int64) -> Bool { until > wall && until - wall <= Self.longest }
    }

    package static let eventsMax = 1000
    package static let entriesMax = 1000
    package static let wakesMax = 64
    private static let lateWakesMax = 8
    package static let traceBytesMax = 1280
    /// Longer than a message can be recovered: a window of 7 days and one more day.
    package static let memory: Int64 = 9 * 86_400_000
    private static let capHoursMax = 90 * 24
    /// How long an app that starts need not repeat to the server what it has accepted.
    package static let confirmation: Int64 = 86_400_000

    /// The server's address, for the extension.
    package var server: String?
    /// Whether the notification service extension has run with this ledger: proof that both share it.
    package private(set) var hasExtension: Bool?
    package var identity: Identity?
    /// The registration that the app requests.
    package var wanted: Registration?
    /// The registration that the server accepted.
    package internal(set) var registered: Registration?
    /// What changed registrations stated that were sent and have no answer yet; nil if there are none.
    package internal(set) var unanswered: Unanswered?
    /// When the server accepted a registration last.
    package internal(set) var registeredAt: Int64?
    /// The device's user according to the server.
    package internal(set) var user: String?
    /// Whether the app asked to be forgotten, and its device is not deleted yet.
    package internal(set) var isLeaving = false
    /// The token of the device to delete; nil if it has none.
    package internal(set) var formerToken: String?
    package var clock = ServerClock()
    package var pause = Pause()
    package internal(set) var entries: [String: LedgerEntry] = [:]
    package private(set) var outbox: [DeviceEvent] = []
    /// Wake-ups to acknowledge.
    package internal(set) var wakes: [Int] = []
    package internal(set) var lastWake: Int?
    /// The device whose wake-ups are counted.
    var countedDevice: String?
    package var wakeRate: WakeRate?
    package var rules: DisplayRules?
    /// Topics to subscribe to (true) and to unsubscribe from.
    package var topicChanges: [String: Bool] = [:]
    /// All topics that the app subscribed to, for a new device.
    package var topics: [String]?
    /// When the server accepted them.
    var subscribedAt: [String: Int64]?
    /// How often the person opened the app in each hour of the day.
    package private(set) var openCounts = [Int](repeating: 0, count: 24)
    package var wasUnlocked: Bool?
    package var sharesContext = false

    package init() {}

    /// The user whose messages the device shows; empty without one.
    package var owner: String { user ?? "" }

    /// The entry of a message for the current user. An entry without a user counts too: it dates from before a
    /// registration whose answer was lost. So does any entry while there is no user, because it dates from before the
    /// person signed out.
    package subscript(_ id: String) -> LedgerEntry? {
        get { entries[id].flatMap { $0.owner == owner || $0.owner.isEmpty || owner.isEmpty ? $0 : nil } }
        set { entries[id] = newValue }
    }

    /// The current user's entries in these stages, in the order of their ids.
    package func entries(in stages: LedgerEntry.Stage...) -> [LedgerEntry] {
        entries.values.filter { stages.contains($0.stage) && $0.owner == owner }.sorted { $0.id < $1.id }
    }

    /// Messages whose content the ledger holds, of any user.
    package var openIDs: Set<String> { Set(entries.values.lazy.filter { $0.message != nil }.map(\.id)) }

    /// When notifications were shown, for the rules that keep them apart.
    package var shownTimes: [Int64] { entries.values.filter(\.stage.wasShown).map(\.since) }

    /// The notification service extension runs, and this is the ledger that it sees.
    package mutating func markExtension() { hasExtension = true }

    // MARK: Messages from the server

    /// Stores an open message. A message that this device is displaying, or has displayed, does not change.
    package mutating func hold(_ message: OpenMessage, now: Int64) {
        guard let entry = self[message.id] else {
            self[message.id] = LedgerEntry(
                id: message.id, owner: owner, stage: .held, message: message, since: now)
            return
        }
        switch entry.stage {
        case .held, .gone:
            guard entry.stage == .gone || message.rev > entry.message?.rev ?? 0 else { return }
            self[message.id] = LedgerEntry(id: message.id, owner: owner, stage: .held, message: message, since: now)
        case .asked:
            // An open revision proves that no claim of an earlier one was or will be granted.
            guard message.rev > entry.claim?.rev ?? 0 else { return }
            self[message.id] = LedgerEntry(id: message.id, owner: owner, stage: .held, message: message, since: now)
        case .intent, .shown, .opened, .dismissed: break
        }
    }

    /// Removes messages that are no longer open. A claim may have been granted although no answer arrived; it is
    /// requested again instead.
    package mutating func revoke(_ ids: [String], now: Int64) {
        for id in ids where self[id]?.stage == .held { self[id]?.enter(.gone, at: now) }
    }

    // MARK: Claim and display

    /// Stores the claim to send: a new one for a held message, the same one for a message that was already claimed.
    /// - Returns: nil if the message is in neither state.
    package mutating func ask(
        _ id: String, claimID: String, score: Double?, snapshot: String?, trace: [UInt8] = [], now: Int64
    ) -> (claim: LedgerEntry.Claim, message: OpenMessage)? {
        guard mayShow, let entry = self[id], let message = entry.message else { return nil }
        switch entry.stage {
        case .held:
            let claim = LedgerEntry.Claim(id: claimID, rev: message.rev, score: score, snapshot: snapshot)
            self[id]?.claim = claim
            add(trace, to: id)
            self[id]?.enter(.asked, at: now)
            return (claim, message)
        case .asked, .intent:
            return entry.claim.map { ($0, message) }
        case .shown, .opened, .dismissed, .gone: return nil
        }
    }

    /// The claim was granted: from now on the notification may be on the screen.
    /// - Returns: whether the message may be displayed: false if an alert was faster, or if the person signed out
    ///   meanwhile.
    package mutating func grant(_ id: String, claimID: String, now: Int64) -> Bool {
        guard mayShow, let entry = self[id], entry.claim?.id == claimID else { return false }
        guard entry.stage == .asked || entry.stage == .intent else { return false }
        self[id]?.enter(.intent, at: now)
        return true
    }

    /// The claim was refused. Only an entry that waits for this answer is affected. A notification that may be on the
    /// screen stays in `intent`, to silence an alert that may follow, and is not claimed again.
    package mutating func lose(_ id: String, claimID: String, now: Int64) {
        guard let entry = self[id], entry.claim?.id == claimID else { return }
        switch entry.stage {
        case .asked: self[id]?.enter(.gone, at: now)
        case .intent: self[id]?.claim = nil
        case .held, .shown, .opened, .dismissed, .gone: break
        }
    }

    /// The person allows no notifications: the message ends here.
    package mutating func withhold(
        _ id: String, reason: DeviceEvent.SuppressionReason, eventID: String, now: Int64
    ) {
        guard self[id]?.stage == .intent else { return }
        var event = DeviceEvent(
            eventID: eventID, message: id, type: .suppressed, at: WireTime(milliseconds: now))
        event.reason = reason
        self[id]?.enter(.gone, at: now)
        report(event)
    }

    /// The notification could not be added, so nothing was displayed: the claim remains.
    package mutating func displayFailed(_ id: String, now: Int64) {
        guard self[id]?.stage == .intent else { return }
        self[id]?.enter(.asked, at: now)
    }

    /// The notification was displayed: records the display and its receipt.
    package mutating func displayed(_ id: String, eventID: String, now: Int64) {
        guard let entry = self[id], entry.stage == .intent else { return }
        var event = DeviceEvent(eventID: eventID, message: id, type: .shown, at: WireTime(milliseconds: now))
        if sharesContext {
            event.snapshot = entry.claim?.snapshot
            event.trace = entry.wholeTrace
        }
        self[id]?.enter(.shown, at: now)
        report(event)
    }

    /// An alert push for the message arrived: decides how it is presented, and records that.
    /// - Parameter mayWait: whether the caller can check again; otherwise an uncertain display counts as displayed.
    package mutating func alert(_ id: String, mayWait: Bool, eventIDs: (String, String), now: Int64) -> AlertVerdict {
        let time = WireTime(milliseconds: now)
        switch self[id]?.stage {
        case .intent where mayWait: return .wait
        case .intent:
            // The notification may have been displayed and removed since: a second sound would be one too many, and a
            // missing notification one too few.
            displayed(id, eventID: eventIDs.0, now: now)
            return .silence
        case .shown, .opened, .dismissed:
            var event = DeviceEvent(eventID: eventIDs.0, message: id, type: .suppressed, at: time)
            event.reason = .duplicate
            report(event)
            return .silence
        case .held, .asked, .gone, nil:
            if self[id] == nil { self[id] = LedgerEntry(id: id, owner: owner, stage: .gone, since: now) }
            var shown = DeviceEvent(eventID: eventIDs.1, message: id, type: .shown, at: time)
            // The trace shows that the phone waited until the end.
            if sharesContext { shown.trace = self[id]?.wholeTrace }
            self[id]?.enter(.shown, at: now)
            limitEntries()
            report(DeviceEvent(eventID: eventIDs.0, message: id, type: .received, at: time))
            report(shown)
            return .show
        }
    }

    /// The person opened or dismissed a notification. It was therefore displayed, whatever else is known about it.
    package mutating func respond(_ id: String, isDismissal: Bool, button: String?, eventID: String, now: Int64) {
        var event = DeviceEvent(
            eventID: eventID, message: id, type: isDismissal ? .dismissed : .opened,
            at: WireTime(milliseconds: now))
        event.button = button
        report(event)
        let shownAt = self[id].flatMap { $0.stage.wasShown ? $0.since : nil } ?? now
        if self[id] == nil { self[id] = LedgerEntry(id: id, owner: owner, stage: .gone, since: now) }
        guard self[id]?.stage != .opened else { return }
        self[id]?.enter(isDismissal ? .dismissed : .opened, at: shownAt)
        limitEntries()
    }

    // MARK: Considering a moment

    /// Records that the moment was considered and not taken.
    package mutating func look(_ id: String, trace: [UInt8], now: Int64) {
        guard self[id]?.stage == .held else { return }
        self[id]?.looks.append(now)
        add(trace, to: id)
    }

    /// What was computed at a wake for a soft message, for those who share it.
    private mutating func add(_ trace: [UInt8], to id: String) {
        guard sharesContext, let entry = self[id], entry.isSoft else { return }
        if entry.trace.count + trace.count <= Self.traceBytesMax {
            self[id]?.trace += trace
        } else {
            self[id]?.isTraceCut = true
        }
    }

    /// Records a wake-up, and those that were missed according to its number.
    package mutating func note(wake sequence: Int, prior: Double, now: Int64) {
        // Pushes arrive at most `lateWakesMax` numbers late. A much lower number means that the server counts from an
        // earlier one again, for example after it was restored from a backup. If such wake-ups were ignored, the server
        // would count them as lost.
        if let last = lastWake, sequence < last - Self.lateWakesMax { (lastWake, wakes) = (nil, []) }
        guard sequence > lastWake ?? .min else { return }
        var rate = wakeRate ?? WakeRate(prior: prior, now: now)
        if let lastWake {
            for _ in 0..<min(sequence - lastWake - 1, 20) { rate.record(hasArrived: false, now: now) }
        }
        rate.record(hasArrived: true, now: now)
        wakeRate = rate
        lastWake = sequence
        wakes = (wakes + [sequence]).suffix(Self.wakesMax)
    }

    /// Counts an opening of the app.
    package mutating func countOpen(hour: Int, eventID: String, now: Int64) {
        guard openCounts.indices.contains(hour) else { return }
        // The counters fade, so that a changed habit shows after a few weeks.
        if openCounts.reduce(0, +) >= 400 { openCounts = openCounts.map { $0 / 2 } }
        openCounts[hour] += 1
        guard sharesContext else { return }
        var event = DeviceEvent(
            eventID: eventID, type: .appOpened, at: WireTime(milliseconds: now - now % 3_600_000))
        event.hour = hour
        report(event)
    }

    // MARK: Reports

    /// Queues an event. Beyond the limit, drops the oldest event that is not a receipt of a display, or else the oldest
    /// event.
    package mutating func report(_ event: DeviceEvent) {
        outbox.append(event)
        guard outbox.count > Self.eventsMax else { return }
        outbox.remove(at: outbox.firstIndex { !$0.type.isReceipt } ?? 0)
    }

    /// The server stored or refused these.
    package mutating func acknowledge(events ids: Set<String>, wakes numbers: [Int] = []) {
        outbox.removeAll { ids.contains($0.eventID) }
        wakes.removeAll(where: numbers.contains)
    }

    /// Withdraws the consent to context sharing: deletes the contexts that were collected and not yet sent.
    package mutating func stopSharing() {
        sharesContext = false
        outbox.removeAll { $0.type == .appOpened }
        for index in outbox.indices { (outbox[index].snapshot, outbox[index].trace) = (nil, nil) }
        for key in entries.keys {
            entries[key]?.trace = []
            entries[key]?.isTraceCut = nil
            entries[key]?.claim?.snapshot = nil
        }
    }

    /// Removes what is too old to matter.
    /// - Parameter now: as the server has just stated it. By a clock that is days ahead, the device would forget what
    ///   it has shown.
    package mutating func prune(now: Int64) {
        // What was shown while the clock was ahead must not hold other messages back until that time.
        for key in entries.keys { entries[key]?.limit(to: now) }
        // The app's cap may count what was shown weeks ago.
        let capHours = min(max(rules?.frequencyCap?.hours ?? 0, 0), Self.capHoursMax)
        let shownMemory = max(Self.memory, Int64(capHours) * 3_600_000)
        entries = entries.filter { _, entry in
            let end = entry.message?.fallbackAt.milliseconds ?? entry.since
            return max(end, entry.since) > now - (entry.stage.wasShown ? shownMemory : Self.memory)
        }
        limitEntries()
    }

    /// Drops the oldest entries beyond the limit. Alerts need it too: each adds an entry, and an app that is never
    /// opened may never sync, while its extension, which has little memory, decodes all of them.
    private mutating func limitEntries() {
        guard entries.count > Self.entriesMax else { return }
        for entry in entries.sorted(by: { $0.value.since < $1.value.since }).prefix(entries.count - Self.entriesMax) {
            entries[entry.key] = nil
        }
    }
}
