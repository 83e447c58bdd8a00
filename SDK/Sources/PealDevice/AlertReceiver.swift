internal import PealWire

/// Receives alert pushes in the notification service extension: decides how each is presented, so that no message
/// alerts twice, and reports the receipt.
package struct AlertReceiver: Sendable {
    /// How long the extension waits for an app that is currently displaying the message.
    package static let patienceMilliseconds = 5000
    private static let lookMilliseconds = 250
    /// How long it uploads. The person waits for the notification meanwhile, and iOS ends an extension after 30 s.
    private static let uploadMilliseconds: Int64 = 8000

    private let state: any SharedState<Ledger>
    private let presenter: any NotificationPresenter
    private let api: (any DeviceAPI)?
    private let clock: any PhoneClock
    private let makeID: @Sendable () -> String
    private let pause: @Sendable (_ milliseconds: Int) async -> Void

    /// - Parameters:
    ///   - api: nil if the server cannot be reached; the app then reports later.
    ///   - pause: waits for the given number of milliseconds.
    package init(
        state: any SharedState<Ledger>, presenter: any NotificationPresenter, api: (any DeviceAPI)?,
        clock: any PhoneClock,
        makeID: @escaping @Sendable () -> String, pause: @escaping @Sendable (Int) async -> Void
    ) {
        (self.state, self.presenter, self.api, self.clock) = (state, presenter, api, clock)
        (self.makeID, self.pause) = (makeID, pause)
    }

    /// Decides about a push for a message.
    /// - Returns: how to present it. If the ledger cannot be read, the caller shows the push.
    package func receive(_ id: String) async throws -> AlertVerdict {
        var waited = 0
        while true {
            let isDisplayed = await presenter.contains(id)
            let verdict = try state.update { ledger -> AlertVerdict in
                let now = ledger.clock.now(clock.reading).milliseconds
                return ledger.alert(
                    id, mayWait: !isDisplayed && waited < Self.patienceMilliseconds, eventIDs: (makeID(), makeID()),
                    now: now)
            }
            guard verdict == .wait else { return verdict }
            await pause(Self.lookMilliseconds)
            waited += Self.lookMilliseconds
        }
    }

    /// Decides about a push for a message, and uploads its receipt while the caller prepares the notification, because
    /// both may take seconds.
    /// - Returns: when both have ended. Once the notification is shown, the system may end the process.
    package func receive(_ id: String, prepare: @Sendable (AlertVerdict) async -> Void) async {
        let verdict = (try? await receive(id)) ?? .show
        async let upload: Void? = try? flush()
        await prepare(verdict)
        await upload
    }

    /// Sends the queued events, unless the server asked for a pause. Nothing is lost if this fails, or if there is no
    /// time for all of them: the app sends them later.
    package func flush() async throws {
        guard let api, try !state.read().pause.holds(at: clock.wall) else { return }
        let end = clock.uptime + Self.uploadMilliseconds
        let failure = try await Reporter(state: state, api: api).flush { clock.uptime < end }
        if case .busy(let seconds)? = failure {
            try state.update { $0.pause.begin(at: clock.wall, seconds: seconds) }
        }
    }
}

/// Sends queued events, oldest first.
package struct Reporter: Sendable {
    package static let eventsPerRequestMax = 200

    private let state: any SharedState<Ledger>
    private let api: any DeviceAPI

    package init(state: any SharedState<Ledger>, api: any DeviceAPI) { (self.state, self.api) = (state, api) }

    /// Sends events until the queue is empty or the server does not answer.
    /// - Parameter hasTime: whether there is time for another request.
    /// - Returns: what stopped it; nil when everything was sent, and without time.
    @discardableResult
    package func flush(while hasTime: @Sendable () -> Bool = { true }) async throws -> APIFailure? {
        while hasTime() {
            let ledger = try state.read()
            let batch = Array(ledger.outbox.prefix(Self.eventsPerRequestMax))
            guard let identity = ledger.identity, !batch.isEmpty else { return nil }
            do {
                _ = try await api.report(batch, as: identity.deviceToken)
            } catch {
                // A batch that is refused as a whole would be refused forever and block all later events.
                guard case .refused(let status, _, _, _) = error, status == 400 || status == 413 else { return error }
                if batch.count > 1 {
                    if let failure = try await one(of: batch.map(\.eventID), while: hasTime) { return failure }
                    continue
                }
            }
            let ids = Set(batch.map(\.eventID))
            try state.update { $0.acknowledge(events: ids) }
        }
        return nil
    }

    /// Sends events one at a time, to find the one that is refused. Each is read again: the person may have stopped
    /// sharing contexts meanwhile, or the app asked to be forgotten.
    private func one(of ids: [String], while hasTime: @Sendable () -> Bool) async throws -> APIFailure? {
        for id in ids where hasTime() {
            let ledger = try state.read()
            guard let identity = ledger.identity, let event = ledger.outbox.first(where: { $0.eventID == id }) else {
                continue
            }
            do {
                _ = try await api.report([event], as: identity.deviceToken)
            } catch {
                guard case .refused = error else { return error }
            }
            try state.update { $0.acknowledge(events: [id]) }
        }
        return nil
    }
}
