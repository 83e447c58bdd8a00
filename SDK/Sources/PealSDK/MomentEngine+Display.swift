internal import PealDevice
internal import PealWire

/// Claims, displays and confirms one message once its moment has come.
extension MomentEngine {
    /// Claims a message and displays it.
    /// - Returns: whether it is on the screen now.
    func show(_ id: String, _ choice: MomentChoice) async throws -> Bool {
        let asked = try parts.state.update { ledger in
            ledger.ask(
                id, claimID: parts.makeID(), score: choice.score,
                snapshot: ledger.sharesContext && !choice.snapshot.isEmpty ? Base64.encode(choice.snapshot) : nil,
                trace: choice.traces[id] ?? [],
                now: ledger.clock.now(parts.clock.reading).milliseconds)
        }
        guard let asked, let grant = try await claim(id, asked.claim) else { return false }
        return try await display(asked.message, claimID: asked.claim.id, before: grant, isSilent: false)
    }

    /// Concludes displays that an earlier wake began and did not record, because its process ended or the disk was
    /// full: one wake runs at a time. The notification may have been displayed, and even removed since; so if it is not
    /// there, it appears without alerting.
    func concludeDisplays() async throws {
        for entry in try parts.state.read().entries(in: .intent) {
            if await parts.presenter.contains(entry.id) {
                try confirm(entry.id)
            } else if let claim = entry.claim, let message = entry.message,
                let grant = try await self.claim(entry.id, claim)
            {
                _ = try await display(message, claimID: claim.id, before: grant, isSilent: true)
            }
        }
    }

    /// Claims a message.
    /// - Returns: until when it may be displayed, by the clock that cannot be set; nil if it may not.
    private func claim(_ id: String, _ claim: LedgerEntry.Claim) async throws -> Int64? {
        guard let identity = try parts.state.read().identity else { return nil }
        let sent = parts.clock.reading
        let answer: ClaimAnswer
        do {
            answer = try await parts.api.claim(
                id, ClaimRequest(device: identity.device, claimID: claim.id, rev: claim.rev, score: claim.score),
                as: identity.deviceToken)
        } catch {
            if case .refused = error {
                // The message does not exist for this device, and the app cannot change that.
                try parts.state.update { $0.lose(id, claimID: claim.id, now: Self.now($0, parts)) }
            } else {
                try note(error)
            }
            return nil
        }
        try parts.state.update { ledger in
            ledger.clock.learn(answer.now, sentAt: sent)
            if !answer.granted { ledger.lose(id, claimID: claim.id, now: answer.now.milliseconds) }
        }
        guard answer.granted, let showBy = answer.showBy else { return nil }
        return sent.uptime + (showBy.milliseconds - answer.now.milliseconds)
    }

    private func display(
        _ message: OpenMessage, claimID: String, before deadline: Int64, isSilent: Bool
    ) async throws -> Bool {
        let permission = await parts.presenter.permission()
        guard parts.clock.uptime < deadline else { return false }
        let isOurs = try parts.state.update { ledger in
            ledger.grant(message.id, claimID: claimID, now: Self.now(ledger, parts))
        }
        guard isOurs else { return false }
        guard permission.allowsAlerts else {
            try parts.state.update {
                $0.withhold(
                    message.id, reason: .noPermission, eventID: parts.makeID(), now: Self.now($0, parts))
            }
            return false
        }
        do {
            try await add(message, isSilent: isSilent)
        } catch {
            // If an earlier wake may have displayed it, the entry stays in `intent`, so that it never alerts again.
            if !isSilent { try parts.state.update { $0.displayFailed(message.id, now: Self.now($0, parts)) } }
            return false
        }
        try confirm(message.id)
        parts.images.remove(message.id)
        return true
    }

    /// Adds the notification, without its image if the system refuses it: for a file that is no image, such as the
    /// login page of a network, it refuses the whole notification (UserNotifications, `UNNotificationAttachment`).
    private func add(_ message: OpenMessage, isSilent: Bool) async throws {
        var notification = LocalNotification(
            id: message.id, content: message.content, image: parts.images.file(for: message.id), isSilent: isSilent)
        do {
            try await parts.presenter.add(notification)
        } catch {
            guard notification.image != nil else { throw error }
            parts.images.remove(message.id)
            notification.image = nil
            try await parts.presenter.add(notification)
        }
    }

    private func confirm(_ id: String) throws {
        try parts.state.update { $0.displayed(id, eventID: parts.makeID(), now: Self.now($0, parts)) }
    }

    private static func now(_ ledger: Ledger, _ parts: EngineParts) -> Int64 {
        ledger.clock.now(parts.clock.reading).milliseconds
    }
}
