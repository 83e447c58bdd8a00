internal import PealDevice
internal import PealMoments
internal import PealWire

/// The parts that the engine works with.
struct EngineParts: Sendable {
    var state: any SharedState<Ledger>
    var models: any SharedState<[String: InstalledModels]>
    var api: any DeviceAPI
    var presenter: any NotificationPresenter
    var sensors: any Sensors
    var clock: any PhoneClock
    var policy: any MomentPolicy
    var images: any ImageStore
    /// A new UUID, in lower case.
    var makeID: @Sendable () -> String
    /// The phone's offset from UTC at an instant in milliseconds since 1970.
    var utcOffsetSeconds: @Sendable (_ milliseconds: Int64) -> Int
    /// Whether a signature of bytes was made with this public key (Ed25519, base64).
    var verify: @Sendable (_ publicKey: String, _ payload: [UInt8], _ signature: [UInt8]) -> Bool
    /// Whether the person does not see the app.
    var isInBackground: @Sendable () async -> Bool = BackgroundWork.isInBackground
    /// What the device says about itself now.
    var describe: @Sendable () -> DeviceDescription = { DeviceDescription() }
    /// Starts work that the caller does not wait for.
    var start: @Sendable (_ work: @escaping @Sendable () async -> Void) async -> Void
    /// Keeps the app running until the returned function is called; calls `expire` when the system takes the time back.
    var hold: @Sendable (_ expire: @escaping @Sendable () -> Void) async -> @Sendable () async -> Void =
        BackgroundWork.hold
    /// The part that recognizes a repeated alert.
    var alertReceiver = AlertReceiverKind.system
    /// How long a wake in the background may take, in seconds.
    var backgroundSeconds = 25.0
    /// How much of a wake all images together may take, in seconds.
    var imageSeconds = 4.0
}

/// Who receives alert pushes, and so recognizes one that repeats a message.
enum AlertReceiverKind: Sendable {
    /// Only the system, which shows every alert.
    case system
    /// The app, in `Peal.receiveAlert`.
    case app
    /// The notification service extension, once it has run with the ledger that the app uses.
    case serviceExtension

    func sharesLedger(_ ledger: Ledger) -> Bool {
        switch self {
        case .system: false
        case .app: true
        case .serviceExtension: ledger.hasExtension == true
        }
    }
}

/// The result of a wake.
struct WakeReport: Sendable, Hashable {
    /// The message that was displayed.
    var shown: String?
    var hasSynced = false
    /// What stopped it.
    var failure: APIFailure?
    /// Why the server refused the registration permanently. The wake continued with what the server knows.
    var refusal: APIFailure?
}

/// The phone's half of a delivery window: receives wakes, holds messages, decides, claims, displays and confirms.
///
/// Every step that matters is in the ledger before it takes effect, so the process may end between any two lines: the
/// next wake continues. An error of the ledger ends the wake, because nothing may be displayed that is not recorded.
actor MomentEngine {
    /// The share of wake-ups that are assumed to arrive until the device knows better.
    private static let wakeRatePrior = 0.6

    /// A user and the proof, as an app states them.
    private struct SignIn: Hashable {
        let user: String?
        let proof: String?
    }

    let parts: EngineParts
    private(set) var turns = Turns()
    /// How many callers of `signIn` wait.
    private var signInsUnderWay = 0
    /// What the server refused while they wait. A wake sends what the app said last, whoever started the wake.
    private var refusals: [SignIn: APIFailure] = [:]
    /// What the server refused last and would refuse again; nil after an accepted registration.
    private(set) var lastRefusal: APIFailure?
    /// What stopped the last call to the server and may pass; nil after a registration or sync that succeeded.
    private var fault: APIFailure?
    private var hasConnected = false
    private var loggedStatus = PealStatus.idle
    /// Whether this run of the app registers although nothing has changed: the server may have retired the device.
    private var confirmation = Confirmation.unasked
    /// How much time for images the current wake still has, in milliseconds.
    var imageTime: Int64 = 0

    /// Counts the syncs of this run of the app.
    private var syncsBegun = 0
    /// The number of the last sync that succeeded since the registration changed; 0 for none.
    private var lastSync = 0

    private enum Confirmation { case unasked, postponed, due, done }

    /// When a wake syncs although it has no other reason to.
    enum SyncWish {
        case never
        /// Unless this run of the app has synced.
        case once
        /// Unless a sync began after the wake was requested.
        case always
    }

    init(_ parts: EngineParts) { self.parts = parts }

    /// The server's time.
    var now: Int64 {
        get throws { try parts.state.read().clock.now(parts.clock.reading).milliseconds }
    }

    /// Continues everything that waits, and considers whether this is a good moment. One wake runs at a time. Others
    /// wait for it, because it may have passed what they ask for: a user who signs in during a sync is registered after
    /// it.
    /// - Parameters:
    ///   - push: the wake-up push; nil for a wake that the system or the person caused.
    ///   - isForeground: whether the person looks at the app; then nothing new is shown.
    ///   - syncs: whether to sync even without a reason.
    func wake(
        _ push: WakePush? = nil, isForeground: Bool = false, syncs: SyncWish = .never
    ) async throws -> WakeReport {
        let requested = syncsBegun
        if let push {
            // Recorded first: the push arrived, even if another wake takes all of its time.
            try parts.state.update { ledger in
                let now = ledger.clock.now(parts.clock.reading).milliseconds
                ledger.note(wake: push.sequence, prior: Self.wakeRatePrior, now: now)
            }
        }
        guard await turn() else { return WakeReport(failure: .lost("the time is over")) }
        defer { turns.end() }
        imageTime = Int64(parts.imageSeconds * 1000)
        var report = WakeReport()
        if let failure = try await register() {
            guard case .refused = failure, try isReady() else {
                report.failure = failure
                return report
            }
            report.refusal = failure
        }
        guard try isReady() else { return report }
        if try needsSync(push) || wishes(syncs, since: requested) {
            report.failure = try await sync()
            report.hasSynced = report.failure == nil
            guard try isReady() else { return report }
        }
        try await concludeDisplays()
        report.shown = try await askAgain()
        if report.shown == nil, !isForeground, !Task.isCancelled { report.shown = try await considerMoment() }
        if let failure = try await Reporter(state: parts.state, api: parts.api).flush() {
            try note(failure)
            report.failure = failure
        }
        try await fetchImages()
        return report
    }

    /// Waits until no other wake is running.
    /// - Returns: false if the task was cancelled meanwhile.
    private func turn() async -> Bool {
        guard !turns.begin() else { return true }
        let number = turns.nextNumber()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                turns.wait(continuation, number, isCancelled: Task.isCancelled)
            }
        } onCancel: {
            // A cancellation handler cannot wait for the actor.
            Task { await cancelTurn(number) }
        }
    }

    private func cancelTurn(_ number: Int) { turns.cancel(number) }

    /// Whether the server knows the device and its user.
    func isReady() throws -> Bool {
        let ledger = try parts.state.read()
        return ledger.identity != nil && !ledger.isBetweenUsers && !ledger.isLeaving
            && !ledger.pause.holds(at: parts.clock.wall)
    }

    private func needsSync(_ push: WakePush?) throws -> Bool {
        let ledger = try parts.state.read()
        let now = ledger.clock.now(parts.clock.reading).milliseconds
        if let oldest = ledger.outbox.first, now - oldest.at.milliseconds > 3_600_000 { return true }
        guard let push else { return false }
        if push.asksForSync { return true }
        let named = Dictionary(push.messages.map { ($0.id, $0.rev) }, uniquingKeysWith: max)
        let isNews = named.contains { id, rev in
            guard let entry = ledger[id], !entry.stage.wasShown else { return ledger[id] == nil }
            return entry.stage == .gone || entry.message?.rev ?? rev < rev
        }
        let isStale =
            push.messages.count < WakePush.messagesMax
            && ledger.entries(in: .held).contains { named[$0.id] == nil }
        return isNews || isStale
    }

    private func wishes(_ syncs: SyncWish, since requested: Int) -> Bool {
        switch syncs {
        case .never: false
        case .once: lastSync == 0
        case .always: lastSync <= requested
        }
    }

    func beginSync() -> Int {
        syncsBegun += 1
        return syncsBegun
    }

    func endSync(_ number: Int) { lastSync = number }

    /// The device, its user or its address has changed, so the server may have other messages for it.
    func forgetSyncs() { lastSync = 0 }

    // MARK: Signing in

    /// States who uses the app, or with nil that nobody does, and registers it.
    /// - Returns: why the server did not take it; nil too if the app has stated something else since.
    func signIn(_ user: String?, _ proof: String?, on platform: String) async throws -> APIFailure? {
        let signIn = SignIn(user: user, proof: proof)
        signInsUnderWay += 1
        defer {
            signInsUnderWay -= 1
            if signInsUnderWay == 0 { refusals = [:] }
        }
        refusals[signIn] = nil
        let isKnown = try parts.state.update { ledger in
            let isKnown = ledger.identity != nil && ledger.wanted?.userID == user && !ledger.isBetweenUsers
            ledger.state(on: platform) { ($0.userID, $0.userProof, $0.keepsUser) = (user, proof, nil) }
            return isKnown
        }
        // Another user has other messages. Apps sign in at every start, even if a wake-up has started them.
        let report = try await wake(isForeground: true, syncs: isKnown ? .never : .once)
        let failure = report.refusal ?? report.failure
        // The wake's own refusal may be that of another sign-in.
        return refusals[signIn] ?? (failure?.concernsUser == true ? nil : failure)
    }

    /// The server did not accept the user or the proof of a registration.
    func refuse(_ sent: Registration, _ failure: APIFailure) throws {
        if signInsUnderWay > 0 { refusals[SignIn(user: sent.userID, proof: sent.userProof)] = failure }
        try parts.state.update { $0.refuseUser(as: sent) }
    }

    // MARK: Choosing

    private func considerMoment() async throws -> String? {
        // Without a message, no decision needs the sensors.
        guard try !candidates(parts.state.read(), at: self.now).isEmpty else { return nil }
        // The person may have changed the settings since the last sync. A message that is claimed here and cannot be
        // shown at once would be lost for the person's other devices.
        let permission = await parts.presenter.permission()
        guard permission.allowsAlerts, !permission.isSummarized else { return nil }
        let signals = await parts.sensors.read()
        // Sensors that were interrupted say nothing about the moment.
        guard !Task.isCancelled else { return nil }
        let ledger = try parts.state.read()
        let now = ledger.clock.now(parts.clock.reading).milliseconds
        var seen = signals
        seen.wasUnlocked = ledger.wasUnlocked
        let held = candidates(ledger, at: now)
        let app = ledger.identity?.app ?? ""
        let wake = MomentWake(
            held: held, signals: seen, now: now, shown: ledger.shownTimes, openCounts: ledger.openCounts,
            wakeRate: ledger.wakeRate, rules: ledger.rules,
            models: try parts.models.read()[app] ?? InstalledModels(app: app),
            utcOffsetSeconds: parts.utcOffsetSeconds, isForeground: false)
        let choice = held.isEmpty ? MomentChoice() : parts.policy.choose(wake)
        try parts.state.update { ledger in
            ledger.wasUnlocked = signals.isUnlocked
            for entry in held where entry.id != choice.show {
                ledger.look(entry.id, trace: choice.traces[entry.id] ?? [], now: now)
            }
        }
        guard let id = choice.show else { return nil }
        try await fetchImages(of: id)
        return try await show(id, choice) ? id : nil
    }

    /// Claimable messages whose window is open.
    private func candidates(_ ledger: Ledger, at now: Int64) -> [LedgerEntry] {
        ledger.entries(in: .held).filter { entry in
            guard let message = entry.message, message.claimable ?? true else { return false }
            return message.start.milliseconds <= now && now < message.fallbackAt.milliseconds
        }
    }

    /// Repeats claims that got no answer, even if the moment is no longer good: only this device may have the message.
    /// In quiet hours they wait, because the repetition may be the first claim that the server gets.
    private func askAgain() async throws -> String? {
        let ledger = try parts.state.read()
        let now = ledger.clock.now(parts.clock.reading).milliseconds
        let time = LocalTime(milliseconds: now, utcOffsetSeconds: parts.utcOffsetSeconds(now))
        let isQuiet = ModelPolicy.rules(ledger.rules).isQuiet(time)
        var shown: String?
        for entry in ledger.entries(in: .asked) where !isQuiet || entry.message?.transactional == true {
            if try await show(entry.id, MomentChoice()) { shown = entry.id }
        }
        return shown
    }

    /// Requests a registration although nothing has changed: once in a run of the app. If the system has started the
    /// app in the background, as it does for wake-ups, the registration waits until the person opens the app, or until
    /// the former one is a day old.
    func confirmRegistration(isInBackground: Bool) throws {
        guard confirmation == .unasked else { return }
        let ledger = try parts.state.read()
        let age = ledger.registeredAt.map { ledger.clock.now(parts.clock.reading).milliseconds - $0 }
        let isRecent = age.map { $0 < Ledger.confirmation } ?? false
        confirmation = isInBackground && isRecent ? .postponed : .due
    }

    /// The person opened the app.
    func confirmPostponedRegistration() { if confirmation == .postponed { confirmation = .due } }

    /// Whether the server is to be sent the registration.
    func needsRegistration() throws -> Bool {
        try parts.state.read().needsRegistration || confirmation == .due
    }

    /// How the app's exchange with the server stands.
    var status: PealStatus {
        if let status = fault.flatMap(PealStatus.init) { return status }
        if let refusal = lastRefusal.flatMap(PealError.init) { return .refused(refusal) }
        return hasConnected ? .connected : .idle
    }

    /// The server accepted a registration, or refused it permanently.
    func noteRegistration(_ refusal: APIFailure? = nil) {
        (confirmation, lastRefusal) = (.done, refusal)
        noteAnswer()
    }

    /// The server answered, so what stopped earlier calls has passed.
    func noteAnswer() {
        (fault, hasConnected) = (nil, true)
        logStatus()
    }

    /// Records that the server did not accept a call.
    func note(_ failure: APIFailure) throws {
        if case .refused = failure {
            (lastRefusal, fault) = (failure, nil)
        } else if !Task.isCancelled {
            // A task that ran out of time says nothing about the server.
            fault = failure
        }
        logStatus()
        try parts.state.update { ledger in
            switch failure {
            case .unauthorized: ledger.dropIdentity()
            case .busy(let seconds): ledger.pause.begin(at: parts.clock.wall, seconds: seconds)
            case .lost, .foreign, .refused: break
            }
        }
    }

    /// Logs a problem that the app's developer can repair, once for as long as it lasts.
    private func logStatus() {
        guard status != loggedStatus else { return }
        loggedStatus = status
        if let problem = status.problem { SystemLog.error(problem) }
    }
}
