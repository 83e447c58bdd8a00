public import Foundation
public import PealDevice
internal import PealMoments
public import PealWire

// The types that the methods below take and return, so that an app imports only this module. Type aliases would not be
// enough: projects in which only members of imported modules are visible (SE-0444), such as new ones of Xcode 26, could
// name these types, but neither create nor read them. The types belong to modules that servers and the extension also
// use. Because each import names one type, nothing else in those modules becomes visible.
@_exported public import enum PealWire.PushAction
@_exported public import struct PealDevice.NotificationCategory
@_exported public import struct PealWire.DeviceIdentifiers

/// Peal in an app: registers the device, shows messages at good moments and reports what became of notifications.
///
/// Keep one instance for the life of the app. All methods may be called at any time and in any order; what fails for
/// lack of a network is retried at the next opportunity.
public actor Peal {
    let engine: MomentEngine
    private let configuration: PealConfiguration
    /// What the system said about the device when the app configured Peal.
    private let described: DeviceDescription
    private var parts: EngineParts { engine.parts }

    /// Peal for this app.
    public init(_ configuration: PealConfiguration) {
        self.init(configuration, dependencies: PealDependencies(configuration))
    }

    /// Peal in an environment that is not a phone, such as a simulation.
    public init(_ configuration: PealConfiguration, dependencies: PealDependencies) {
        self.init(configuration, engine: MomentEngine(dependencies.parts(configuration)))
    }

    /// Peal with an engine that a test assembled.
    init(_ configuration: PealConfiguration, engine: MomentEngine) {
        (self.configuration, self.engine) = (configuration, engine)
        described = engine.parts.describe()
    }

    // MARK: Who the device is

    /// Stores the device token that Apple issued: call it in `didRegisterForRemoteNotificationsWithDeviceToken`.
    public func setDeviceToken(_ deviceToken: Data) async {
        await setAddress(deviceToken.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())
    }

    /// Stores an address of another network, such as an FCM registration token. The first call in a run of the app
    /// registers the device even if nothing has changed, because the server may have retired it. If the system has
    /// started the app in the background, that waits until the person opens it, for a day at most.
    public func setAddress(_ address: String) async {
        let configuration = configuration
        change { ledger in
            ledger.state(on: configuration.platform) { wanted in
                wanted.address = .text(address)
                wanted.environment = configuration.environment?.rawValue
                wanted.sdkVersion = Peal.version
                self.description.write(to: &wanted)
                // The others are read when they are sent.
                wanted.capabilities = Capabilities(background: configuration.canWake)
            }
            ledger.server = configuration.server.absoluteString
        }
        let isInBackground = await parts.isInBackground()
        try? await engine.confirmRegistration(isInBackground: isInBackground)
        // The app registers at every start, so it is probably being opened.
        await send(syncs: isInBackground ? .never : .once)
    }

    /// The description that the app configured, with the system's current locale and time zone.
    private var description: DeviceDescription {
        configuration.description.updated(from: described, to: parts.describe())
    }

    /// States who uses the app, so that messages to this person reach the device. Call it at every start with a fresh
    /// proof: when the server asks for the proof again and it has expired, the device continues without a user. If the
    /// app calls neither this nor `signOut`, the device keeps the user that a backend set.
    /// - Parameters:
    ///   - user: the person's id in your app.
    ///   - proof: the statement of your backend that this person signed in; see the device API's `user_proof`.
    /// - Throws: `PealError.refused` if the server does not accept this proof, `PealError.notStored`. Without a
    ///   connection, or before the device has a token, it succeeds, and the server learns of it later. It also succeeds
    ///   if another sign-in or a sign-out replaces it before the server has seen it.
    public func signIn(user: String, proof: String? = nil) async throws {
        try await setUser(user, proof)
    }

    /// Separates the person from this device. The phone no longer shows messages to the person, not even one whose
    /// moment is being considered now. Alerts that the server sends before it learns of this, such as without a
    /// connection, still appear, because the system shows them.
    /// - Throws: `PealError.notStored`.
    public func signOut() async throws { try await setUser(nil, nil) }

    private func setUser(_ user: String?, _ proof: String?) async throws {
        let engine = engine
        let platform = configuration.platform
        let result = await held { () async -> Result<APIFailure?, PealError> in
            do {
                return .success(try await engine.signIn(user, proof, on: platform))
            } catch {
                return .failure(.notStored)
            }
        }
        if let refusal = try result?.get().flatMap(PealError.init) { throw refusal }
    }

    /// States ids of the device in other systems, such as the IDFV. Ask for the person's consent if it is required.
    /// A change replaces all ids of the device, including those that a backend set. If the app never calls this, or
    /// states the same again, the device keeps its ids.
    public func setIdentifiers(_ identifiers: DeviceIdentifiers) async {
        change { ledger in ledger.state(on: configuration.platform) { $0.identifiers = identifiers } }
        await send()
    }

    /// States facts about the device or its user, by which a backend chooses audiences (`attribute` in a condition).
    /// A change replaces all attributes of the device, including those that a backend set. If the app never calls this,
    /// or states the same again, the device keeps its attributes.
    /// - Throws: `PealError.refused` with the field `attributes` for more than 4,096 bytes of JSON, control characters,
    ///   or an infinite number; `PealError.notStored`.
    public func setAttributes(_ attributes: [String: AttributeValue]) async throws {
        let attributes = try Attributes(attributes)
        do {
            try parts.state.update { ledger in
                ledger.state(on: configuration.platform) { $0.attributes = attributes.members }
            }
        } catch {
            throw PealError.notStored
        }
        await send()
    }

    /// Subscribes to a topic. You may call it at every start: the server is asked at most once a day.
    public func subscribe(to topic: String) async { await setTopic(topic, true) }

    /// Unsubscribes from a topic.
    public func unsubscribe(from topic: String) async { await setTopic(topic, false) }

    private func setTopic(_ topic: String, _ isSubscribed: Bool) async {
        change { ledger in
            let now = ledger.clock.now(self.parts.clock.reading).milliseconds
            ledger.change(topic: topic, isSubscribed: isSubscribed, now: now)
        }
        await send()
    }

    /// Deletes the device on the server, and everything that this phone stores about it. Without a connection, the
    /// phone keeps the device's token and the ids of the messages that it has shown, and deletes the device at the next
    /// opportunity, even after a restart of the app. What the app says afterwards is for a new device, which
    /// `setDeviceToken` registers once the former one is deleted.
    public func forgetDevice() async {
        change { $0.forget() }
        await send()
    }

    /// Whether displays may be reported with their context, which trains the model. Off unless the person agreed. The
    /// device keeps the setting: call this again when another person signs in.
    public func setContextSharing(_ isOn: Bool) {
        change { ledger in
            if isOn { ledger.sharesContext = true } else { ledger.stopSharing() }
        }
    }

    // MARK: What happens

    /// Handles a push that the system passed to the app in the background or foreground.
    /// - Returns: what to report to the system; nil if the push is not a wake-up of Peal.
    public func didReceive(_ push: Push, isForeground: Bool = false) async -> WakeOutcome? {
        guard let wake = push.wake else { return nil }
        let engine = engine
        guard let report = await inTime({ try await engine.wake(wake, isForeground: isForeground) }) else {
            return .failed
        }
        return report.failure != nil ? .failed : report.shown != nil || report.hasSynced ? .newData : .noData
    }

    /// Sends the server what the app stated while the person was using it, and continues if the person leaves the app
    /// meanwhile. The system soon suspends such an app, and ends it if it is suspended while it holds a lock on a file
    /// of the app group (Apple, "Understanding the exception types in a crash report", 0xDEAD10CC).
    private func send(syncs: MomentEngine.SyncWish = .never) async {
        let engine = engine
        await held { _ = try? await engine.wake(isForeground: true, syncs: syncs) }
    }

    /// Runs a wake in the background. The system ends an app that takes longer than 30 s (Apple, "Pushing background
    /// updates to your App"), and grants less at other times, so the wake is cancelled before; the next one continues
    /// it.
    /// - Returns: nil if the ledger cannot be used, or if the time is over.
    private func inTime(_ wake: @escaping @Sendable () async throws -> WakeReport) async -> WakeReport? {
        let result = await held(seconds: parts.backgroundSeconds) { () async -> WakeReport? in
            let report = try? await wake()
            return Task.isCancelled ? nil : report
        }
        return result ?? nil
    }

    /// Keeps the app running during the work, and cancels the work when the system takes the time back.
    /// - Parameter seconds: when the work is cancelled in any case; nil for never.
    /// - Returns: what the work returns, even if it was cancelled.
    @discardableResult
    private func held<Value: Sendable>(
        seconds: Double? = nil, _ work: @escaping @Sendable () async -> Value
    ) async -> Value? {
        let (expiry, expire) = AsyncStream<Void>.makeStream()
        let release = await parts.hold { expire.finish() }
        let result: Value? = await withTaskGroup(of: Value?.self) { group in
            group.addTask { await work() }
            group.addTask {
                for await _ in expiry {}
                return nil
            }
            if let seconds {
                group.addTask {
                    try? await Task.sleep(nanoseconds: UInt64(seconds * 1_000_000_000))
                    return nil
                }
            }
            // Whatever ends first ends the others; the work always returns a value.
            for await value in group {
                group.cancelAll()
                if let value { return value }
            }
            return nil
        }
        await release()
        return result
    }

    /// Handles the person's response to a notification. It returns as soon as the response is stored, because the app
    /// reacts to the tap only then; the upload follows.
    /// - Returns: what the notification asks for; nil for a dismissal, and for a notification that is not Peal's.
    @discardableResult
    public func didRespond(to push: Push, _ response: NotificationResponse) async -> PushAction? {
        guard let id = push.message else { return nil }
        let button: String? = if case .button(let id) = response { id } else { nil }
        let isDismissal = response == .dismissed
        change { ledger in
            ledger.respond(
                id, isDismissal: isDismissal, button: button, eventID: self.parts.makeID(),
                now: ledger.clock.now(self.parts.clock.reading).milliseconds)
        }
        let engine = engine
        await parts.start { _ = try? await engine.wake(isForeground: !isDismissal) }
        return isDismissal ? nil : push.action(button: button)
    }

    /// Reports that the person opened content, from a notification or otherwise.
    /// - Parameters:
    ///   - content: what it is, in the app's terms, such as an article's id.
    ///   - push: the notification that led there; nil if none did.
    public func didOpen(content: String, from push: Push? = nil) {
        change { ledger in
            var event = DeviceEvent(
                eventID: self.parts.makeID(), message: push?.message, type: .contentOpened,
                at: ledger.clock.now(self.parts.clock.reading))
            // The server counts code points, of which one character may have several.
            event.content = String(String.UnicodeScalarView(content.unicodeScalars.prefix(255)))
            ledger.report(event)
        }
    }

    /// The person opened the app: counts the hour, which teaches this phone its owner's habits, and syncs.
    public func didBecomeActive() async {
        change { ledger in
            let now = ledger.clock.now(self.parts.clock.reading).milliseconds
            let time = LocalTime(milliseconds: now, utcOffsetSeconds: self.parts.utcOffsetSeconds(now))
            ledger.countOpen(hour: Int(time.hour), eventID: self.parts.makeID(), now: now)
            // The person may have travelled.
            if ledger.wanted != nil { ledger.state(on: self.configuration.platform, self.description.write) }
        }
        await engine.confirmPostponedRegistration()
        await send(syncs: .always)
    }

    /// The app may run for a moment: its last window went to the background, or the system granted a background
    /// refresh. May show a message.
    @discardableResult
    public func didGetBackgroundTime() async -> WakeOutcome {
        let engine = engine
        guard let report = await inTime({ try await engine.wake() }) else { return .failed }
        return report.failure == nil ? report.shown == nil ? .noData : .newData : .failed
    }

    /// Registers the notification categories of devtodev's button templates in the person's language, with the app's
    /// own. Apple knows one set of categories per app: add yours here.
    public func registerCategories(
        _ own: [NotificationCategory] = [], languages: [String] = Locale.preferredLanguages
    ) async {
        await parts.presenter.register(
            [.plain] + NotificationCategory.templates(languages: languages) + own)
    }

    /// Whether a notification that arrived while the app is open may alert: call it in
    /// `userNotificationCenter(_:willPresent:)`. Without an extension, this is where a second push of a message is
    /// recognized. On Apple's systems, `willPresent` also calls the system's completion handler.
    public func shouldPresent(_ push: Push) -> Bool {
        // What this phone displays itself alerts once already.
        guard let id = push.message, !push.isLocal else { return true }
        guard let ledger = try? parts.state.read(), ledger[id]?.stage.wasShown == true else { return true }
        // What an extension passes on has already been decided, with the same ledger.
        return parts.alertReceiver.sharesLedger(ledger)
    }

    /// Takes an alert push where the app itself presents it, as a notification service extension does elsewhere:
    /// decides whether it may alert, and reports its receipt.
    /// - Returns: false for a message that has already alerted the person. What cannot be decided is shown.
    public func receiveAlert(_ push: Push) async -> Bool {
        guard let id = push.message else { return true }
        let receiver = AlertReceiver(
            state: parts.state, presenter: parts.presenter, api: parts.api, clock: parts.clock, makeID: parts.makeID,
            pause: { try? await Task.sleep(nanoseconds: UInt64($0) * 1_000_000) })
        let verdict = (try? await receiver.receive(id)) ?? .show
        try? await receiver.flush()
        return verdict != .silence
    }

    /// The device's id on the server; nil before its registration.
    public var device: String? { try? parts.state.read().identity?.device }

    /// Whether repeated alerts are recognized before they are shown: the notification service extension has run, and
    /// shares the ledger with the app. If this stays false after an alert has arrived, `PealConfiguration.group` and
    /// `PealNotificationService.group` differ, or one of the two targets lacks the app group.
    public var sharesLedger: Bool {
        guard let ledger = try? parts.state.read() else { return false }
        return parts.alertReceiver.sharesLedger(ledger)
    }

    /// What the server refused last in this run of the app, and would refuse again, such as a registration with an
    /// unknown key. nil if it refused nothing, or has accepted a registration since. The device continues with what the
    /// server knows. `status` also shows what is retried silently, such as requests to a wrong address.
    public var lastRefusal: PealError? {
        get async { await engine.lastRefusal.flatMap(PealError.init) }
    }

    /// The state of the exchange with the server in this run of the app. It shows developers whether the server's
    /// address and the key are right. Each problem is also written to the system's log (subsystem `peal`) once.
    public var status: PealStatus {
        get async { await engine.status }
    }

    /// Applies a change that the person or the system caused. If the ledger cannot be written, as before the first
    /// unlock after a restart, the change is lost.
    private func change(_ change: (inout Ledger) -> Void) { try? parts.state.update(change) }

    /// The version of this SDK.
    public static let version = "1.0.0"
}

// The methods above do not declare it as a typed error: Swift 6.3 crashes if an app that calls such a method catches only
// some cases (`catch PealError.refused("invalid_field", _, _)`) and has a closure in the same statement.

/// Why Peal could not do what the app requested.
public enum PealError: Error, Sendable, Hashable {
    /// The server refused, and would refuse again.
    case refused(code: String, message: String?, field: String?)
    /// The phone's files cannot be written, as before the first unlock after a restart. Call again later.
    case notStored

    /// nil if the failure is not final.
    init?(_ failure: APIFailure) {
        guard case .refused(_, let code, let message, let field) = failure else { return nil }
        self = .refused(code: code, message: message, field: field)
    }
}

extension PealError: LocalizedError {
    /// The server's message, for developers, or why the phone cannot store anything.
    public var errorDescription: String? {
        switch self {
        case .refused(let code, let message, _): message ?? "the server refused the request (\(code))"
        case .notStored: "the phone's files cannot be written now; try again later"
        }
    }
}
