internal import Foundation
internal import PealDevice
internal import PealMoments
internal import PealWire

/// Registration and sync.
extension MomentEngine {
    private static let syncPagesMax = 20

    /// Sends the server what the app requests.
    /// - Returns: what stopped it; nil if nothing is left to send.
    func register() async throws -> APIFailure? {
        let ledger = try parts.state.read()
        guard !ledger.pause.holds(at: parts.clock.wall) else { return nil }
        if ledger.isLeaving { return try await leave(ledger) }
        guard let wanted = ledger.wanted else { return nil }
        if ledger.needsRegistration {
            var request = wanted
            request.deviceToken = ledger.identity?.deviceToken
            request.topics = ledger.identity == nil ? ledger.topics : nil
            let sent = parts.clock.reading
            do {
                let answer = try await parts.api.register(request)
                try parts.state.update { $0.register(answer, as: wanted, sentAt: sent) }
            } catch let failure as APIFailure {
                try note(failure)
                if case .refused(_, _, _, let field) = failure, field == "user_proof" || field == "user_id" {
                    try parts.state.update { $0.refuseUser() }
                }
                return failure
            }
        }
        return try await changeTopics()
    }

    private func changeTopics() async throws -> APIFailure? {
        let ledger = try parts.state.read()
        guard let identity = ledger.identity else { return nil }
        for (topic, isSubscribed) in ledger.topicChanges.sorted(by: { $0.key < $1.key }) {
            do {
                try await parts.api.setTopic(topic, isSubscribed: isSubscribed, as: identity.deviceToken)
            } catch {
                try note(error)
                guard case .refused = error else { return error }
            }
            try parts.state.update { ledger in
                // The app may have changed its mind meanwhile.
                if ledger.topicChanges[topic] == isSubscribed { ledger.topicChanges[topic] = nil }
            }
        }
        return nil
    }

    private func leave(_ ledger: Ledger) async throws -> APIFailure? {
        if let identity = ledger.identity {
            do {
                try await parts.api.unregister(as: identity.deviceToken)
            } catch {
                // A token that has ended no longer belongs to a device.
                guard !error.isTemporary else { return error }
            }
        }
        try parts.state.update { $0 = Ledger() }
        try parts.models.update { $0 = [:] }
        return nil
    }

    /// Exchanges changes with the server. Replaces a token that has ended, once.
    /// - Returns: what stopped it; nil if everything was exchanged.
    func sync() async throws -> APIFailure? {
        let failure = try await pages()
        guard failure == .unauthorized else { return failure }
        if let failure = try await register() { return failure }
        guard try isReady() else { return .unauthorized }
        return try await pages()
    }

    private func pages() async throws -> APIFailure? {
        var cursor: String?
        for _ in 0..<Self.syncPagesMax {
            let ledger = try parts.state.read()
            guard let identity = ledger.identity else { return .unauthorized }
            let request = try await syncRequest(ledger, identity, cursor)
            let sent = parts.clock.reading
            let answer: SyncAnswer
            do {
                answer = try await parts.api.sync(request, as: identity.deviceToken)
            } catch {
                try note(error)
                return error
            }
            try take(answer, to: request, sentAt: sent)
            try install(answer.models ?? [], identity)
            for message in answer.messages ?? [] {
                guard let url = message.content.imageURL else { continue }
                await parts.images.fetch(url, for: message.id)
            }
            guard let next = answer.next else { return nil }
            cursor = next
        }
        return nil
    }

    private func syncRequest(
        _ ledger: Ledger, _ identity: Ledger.Identity, _ cursor: String?
    ) async throws -> SyncRequest {
        var request = SyncRequest(device: identity.device)
        request.have.msgs = Dictionary(
            ledger.entries(in: .held).prefix(256).map { ($0.id, $0.message?.rev ?? 0) }, uniquingKeysWith: max)
        let shelf = try parts.models.read()[identity.app] ?? ModelShelf(app: identity.app)
        request.have.models = shelf.versions
        request.wakes = ledger.wakes.isEmpty ? nil : ledger.wakes
        let events = Array(ledger.outbox.prefix(Reporter.eventsPerRequestMax))
        request.events = events.isEmpty ? nil : events
        var capabilities = ledger.wanted?.capabilities ?? Capabilities()
        let permission = await parts.board.permission()
        (capabilities.alerts, capabilities.scheduledSummary) = (permission.allowsAlerts, permission.isSummarized)
        request.capabilities = capabilities
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
        try parts.models.update { shelves in
            var shelf = shelves[identity.app] ?? ModelShelf(app: identity.app)
            for file in files {
                guard let bytes = try? JSONEncoder().encode(file) else { continue }
                _ = try? shelf.install([UInt8](bytes), now: now) { keyID, payload, signature in
                    keys[keyID].map { parts.verify($0, payload, signature) } ?? false
                }
            }
            shelves[identity.app] = shelf
        }
    }
}
