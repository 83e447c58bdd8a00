internal import Foundation
internal import PealDevice
internal import PealMoments
internal import PealWire

/// Registration and sync.
extension MomentEngine {
    private static let syncPagesMax = 20
    private static let invalidKey = APIFailure.refused(
        status: 401, code: "unauthorized", message: "the device key is not valid", field: nil)

    /// Sends the server what the app requests: first that a former device be deleted.
    /// - Returns: what stopped it; nil if nothing is left to send.
    func register() async throws -> APIFailure? {
        let ledger = try parts.state.read()
        guard !ledger.pause.holds(at: parts.clock.wall) else { return nil }
        if ledger.isLeaving, let failure = try await leave() { return failure }
        var refusal: APIFailure?
        let isNews = ledger.needsRegistration
        if try needsRegistration(), let failure = try await sendRegistration(isNews: isNews) {
            // If nothing has changed, a busy server gets the registration at a later wake.
            if case .refused = failure { refusal = failure } else if isNews || !failure.isTemporary { return failure }
        }
        return try await changeTopics() ?? refusal
    }

    /// - Parameter isNews: whether the server does not know it yet.
    private func sendRegistration(isNews: Bool) async throws -> APIFailure? {
        let permission = await parts.presenter.permission()
        // Read only now: the app may have said something while the system answered.
        let begun = try parts.state.update { ledger in
            let before = ledger
            return ledger.beginRegistration().map { (ledger: before, wanted: $0.wanted, request: $0.request) }
        }
        guard let (ledger, wanted, given) = begun else { return nil }
        var request = given
        request.capabilities = capabilities(ledger, permission)
        let sent = parts.clock.reading
        let answer: RegistrationAnswer
        do {
            answer = try await parts.api.register(request)
        } catch {
            // The app's key was refused, not the device's token, so the device keeps its token.
            let failure = error == .unauthorized ? Self.invalidKey : error
            if isNews || !failure.isTemporary { try note(failure) }
            if case .refused = failure {
                noteRegistration(failure)
                try parts.state.update { $0.endRefusedRegistration(ledger.unanswered) }
            }
            if failure.concernsUser { try refuse(wanted, failure) }
            return failure
        }
        // The permission and the extension are not part of what was registered: syncs report when they change.
        try parts.state.update { $0.register(answer, as: wanted, in: request, sentAt: sent) }
        noteRegistration()
        let isKnown = answer.deviceToken == request.deviceToken
        if isNews || !isKnown { forgetSyncs() }
        let isWhole = request.identifiers == wanted.identifiers && request.attributes == wanted.attributes
        return isKnown || isWhole ? nil : try await sendRegistration(isNews: true)
    }

    /// The device's capabilities, with what the person currently allows.
    private func capabilities(_ ledger: Ledger, _ permission: NotificationPermission) -> Capabilities {
        var capabilities = ledger.wanted?.capabilities ?? Capabilities()
        capabilities.nseLedger = parts.alertReceiver.sharesLedger(ledger)
        (capabilities.alerts, capabilities.scheduledSummary) = (permission.allowsAlerts, permission.isSummarized)
        return capabilities
    }

    /// Subscribes to topics and unsubscribes from them one at a time. A registration with a list would replace the
    /// topics that a backend added, and a single invalid topic would cause all others to be refused.
    private func changeTopics() async throws -> APIFailure? {
        let ledger = try parts.state.read()
        guard let identity = ledger.identity else { return nil }
        for (topic, isSubscribed) in ledger.topicChanges.sorted(by: { $0.key < $1.key }) {
            var isRefused = false
            do {
                try await parts.api.setTopic(topic, isSubscribed: isSubscribed, as: identity.deviceToken)
            } catch {
                try note(error)
                guard case .refused = error else { return error }
                isRefused = true
            }
            try parts.state.update { ledger in
                let now = ledger.clock.now(parts.clock.reading).milliseconds
                ledger.conclude(topic: topic, isSubscribed: isSubscribed, isRefused: isRefused, now: now)
            }
        }
        return nil
    }

    /// Deletes the device that the app asked to forget.
    private func leave() async throws -> APIFailure? {
        let formerToken = try parts.state.update { ledger in
            ledger.resumeForgetting()
            return ledger.formerToken
        }
        if let formerToken {
            do {
                try await parts.api.unregister(as: formerToken)
            } catch {
                // A token that has ended no longer belongs to a device.
                guard !error.isTemporary else {
                    try note(error)
                    return error
                }
            }
        }
        // The ledger comes last: if the process ends before, the next one does all of it again.
        parts.images.removeAll()
        parts.models.discardUndecodable()
        parts.state.discardUndecodable()
        try parts.models.update { $0 = [:] }
        try parts.state.update { $0.endForgetting() }
        return nil
    }

    /// Exchanges changes with the server. If the token has ended, replaces it once.
    /// - Returns: what stopped it; nil if everything was exchanged.
    func sync() async throws -> APIFailure? {
        let number = beginSync()
        var failure = try await pages()
        if failure == .unauthorized {
            if let failure = try await register() { return failure }
            guard try isReady() else { return .unauthorized }
            failure = try await pages()
        }
        if failure == nil { endSync(number) }
        return failure
    }

    private func pages() async throws -> APIFailure? {
        var cursor: String?
        for _ in 0..<Self.syncPagesMax {
            let permission = await parts.presenter.permission()
            // Read only now: the person may have stopped sharing contexts while the system answered.
            let ledger = try parts.state.read()
            guard let identity = ledger.identity else { return .unauthorized }
            let request = try syncRequest(ledger, identity, permission, cursor)
            let sent = parts.clock.reading
            let answer: SyncAnswer
            do {
                answer = try await parts.api.sync(request, as: identity.deviceToken)
            } catch {
                try note(error)
                return error
            }
            noteAnswer()
            try take(answer, to: request, sentAt: sent)
            try install(answer.models ?? [], identity)
            try dropImages(answer.messages ?? [])
            guard let next = answer.next else { return nil }
            cursor = next
        }
        return nil
    }

    private func syncRequest(
        _ ledger: Ledger, _ identity: Ledger.Identity, _ permission: NotificationPermission, _ cursor: String?
    ) throws -> SyncRequest {
        var request = SyncRequest(device: identity.device)
        request.have.msgs = Dictionary(
            ledger.entries(in: .held).prefix(256).map { ($0.id, $0.message?.rev ?? 0) }, uniquingKeysWith: max)
        let models = try parts.models.read()[identity.app] ?? InstalledModels(app: identity.app)
        request.have.models = models.versions
        request.wakes = ledger.wakes.isEmpty ? nil : ledger.wakes
        let events = Array(ledger.outbox.prefix(Reporter.eventsPerRequestMax))
        request.events = events.isEmpty ? nil : events
        request.capabilities = capabilities(ledger, permission)
        request.cursor = cursor
        return request
    }

    private func take(_ answer: SyncAnswer, to request: SyncRequest, sentAt sent: ClockReading) throws {
        try parts.state.update { ledger in
            ledger.clock.learn(answer.now, sentAt: sent)
            ledger.pause = Ledger.Pause()
            ledger.prune(now: answer.now.milliseconds)
            ledger.acknowledge(events: Set((request.events ?? []).map(\.eventID)), wakes: request.wakes ?? [])
            if let rules = answer.rules { ledger.rules = rules }
            // A user who changed while the request was under way would get another user's messages.
            guard ledger.identity?.device == request.device, !ledger.isBetweenUsers else { return }
            ledger.revoke(answer.revoked ?? [], now: answer.now.milliseconds)
            for message in answer.messages ?? [] { ledger.hold(message, now: answer.now.milliseconds) }
        }
    }

    /// Installs models; one that is refused leaves the installed one in use.
    private func install(_ files: [SignedModel], _ identity: Ledger.Identity) throws {
        guard !files.isEmpty else { return }
        let keys = Dictionary(identity.modelKeys.map { ($0.kid, $0.publicKey) }, uniquingKeysWith: { $1 })
        let now = try now
        try parts.models.update { modelsByApp in
            var models = modelsByApp[identity.app] ?? InstalledModels(app: identity.app)
            for file in files {
                guard let bytes = try? JSONEncoder().encode(file) else { continue }
                _ = try? models.install([UInt8](bytes), now: now) { keyID, payload, signature in
                    keys[keyID].map { parts.verify($0, payload, signature) } ?? false
                }
            }
            modelsByApp[identity.app] = models
        }
    }
}
