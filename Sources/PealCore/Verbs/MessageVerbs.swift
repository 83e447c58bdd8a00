/// Accepts, changes and stops messages.
package struct MessageVerbs: Sendable {
    package let store: any Store
    package let engine: any DeliveryEngine

    package init(store: any Store, engine: any DeliveryEngine) {
        self.store = store
        self.engine = engine
    }

    /// The answer about a message that was just made durable.
    package struct Accepted: Sendable, Hashable {
        package let id: MessageID
        package let state: Message.State
        package let audienceEstimate: Int
    }

    /// Makes the message durable. If it starts now, also divides it into slices in the same transaction. The slices of
    /// a small explicit audience are leased to this process and go to the engine immediately.
    /// - Parameter mayBeTaken: whether another process may have sent a message with this id.
    /// - Throws: `conflict` if it has.
    package func send(
        _ draft: MessageDraft, _ call: VerbCall, mayBeTaken: Bool = false,
        reply: @escaping @Sendable (Accepted) throws -> Reply
    ) async throws -> Reply {
        let offer = engine.leaseOffer
        let (reply, acceptance) = try await store.commit(
            .intake, call, reply: { (acceptance: Acceptance) in try reply(acceptance.accepted) },
            change: { store in
                if mayBeTaken, try store.message(app: draft.app, id: draft.id) != nil {
                    throw PealError(.conflict, "the message has already been sent")
                }
                let acceptance = try Self.accept(draft, offer: offer, in: store, now: call.now)
                try store.audit(call, app: draft.app, "message.send", "message \(draft.id)")
                return acceptance
            })
        if let acceptance {
            call.noted?.note(draft.id)
            acceptance.handOver(to: engine)
        }
        return reply
    }

    /// A message in a transaction, and what the engine receives after the commit.
    struct Acceptance: Sendable {
        let accepted: Accepted
        var leased: (slices: [Slice], job: DeliveryJob, offer: LeaseOffer)?
        let needsWake: Bool

        func handOver(to engine: any DeliveryEngine) {
            if let leased { engine.take(leased.slices, of: leased.job, under: leased.offer) }
            if needsWake { engine.wake() }
        }
    }

    /// Makes the message durable in the caller's transaction. The caller must hand it over to the engine
    /// afterwards.
    static func accept(
        _ draft: MessageDraft, offer: LeaseOffer?, in store: any StoreWriting, now: Timestamp
    ) throws -> Acceptance {
        if draft.window != nil {
            try store.insertMessage(draft)
            let accepted = Accepted(id: draft.id, state: .scheduled, audienceEstimate: draft.audience.users.count)
            return Acceptance(accepted: accepted, needsWake: true)
        }
        guard draft.startAt == nil, isPlannedAtOnce(draft.audience) else {
            try store.insertMessage(draft)
            let estimate = try store.audienceEstimate(
                app: draft.app, draft.audience, environment: draft.audienceEnvironment, now: now)
            let accepted = Accepted(
                id: draft.id, state: draft.startAt == nil ? .planning : .scheduled,
                audienceEstimate: estimate.values.reduce(0, +))
            return Acceptance(accepted: accepted, needsWake: true)
        }
        let plan = try store.insertPlanned(draft, under: offer, now: now)
        let accepted = Accepted(id: draft.id, state: plan.state, audienceEstimate: plan.audienceEstimate)
        let slices = plan.leasedSlices
        var acceptance = Acceptance(accepted: accepted, needsWake: slices.isEmpty && !plan.state.isFinal)
        if let offer, !slices.isEmpty { acceptance.leased = (slices, DeliveryJob(draft, pages: plan.pages), offer) }
        return acceptance
    }

    /// Planning costs one row for each slice. The engine plans only long lists of members, which must be looked up one
    /// by one.
    private static func isPlannedAtOnce(_ audience: Audience) -> Bool {
        audience.devices.count + audience.users.count + audience.identifiers.count + audience.addresses.count
            <= Limits.directDevicesMax
    }

    /// Changes a message that has not started.
    /// - Parameters:
    ///   - rate: The new rate, if the change contains nothing else: that is possible until the message ends.
    ///   - edit: may take long, so no transaction waits for it. It is called again for the new draft if another request
    ///     has changed the message meanwhile.
    /// - Throws: `not_found`; `conflict` when it has started, or is changed again and again; what `edit` throws.
    package func change(
        _ id: MessageID, app: AppKey, _ call: VerbCall, onlyRate rate: RateChange? = nil,
        edit: @escaping @Sendable (inout MessageDraft) async throws(PealError) -> Void
    ) async throws -> MessageReport {
        for _ in 0..<Limits.changeAttemptsMax {
            var report = try await changeRate(of: id, app: app, to: rate, call)
            if report == nil { report = try await replace(id, app: app, call, edit: edit) }
            guard let report else { continue }
            if rate != nil { engine.interrupt(id) }
            engine.wake()
            return report
        }
        throw PealError(
            .conflict, "other requests keep changing the message; try again later", retryAfterSeconds: 1)
    }

    /// - Returns: nil if the change is not about the rate alone, or the message has not started.
    private func changeRate(
        of id: MessageID, app: AppKey, to rate: RateChange?, _ call: VerbCall
    ) async throws -> MessageReport? {
        guard let rate else { return nil }
        return try await store.write(.control) { store in
            guard let message = try store.message(app: app, id: id) else { throw PealError.notFound("message") }
            guard [.planning, .sending, .paused].contains(message.state), message.windowUntil == nil else { return nil }
            try store.setRate(rate.perSecond, app: app, message: id)
            try store.audit(call, app: app, "message.rate", "message \(id)")
            return try Self.report(id, app: app, in: store)
        }
    }

    /// - Returns: nil if the message was changed while it was edited.
    private func replace(
        _ id: MessageID, app: AppKey, _ call: VerbCall,
        edit: @Sendable (inout MessageDraft) async throws(PealError) -> Void
    ) async throws -> MessageReport? {
        var (draft, digest) = try await store.read { store in
            guard let message = try store.message(app: app, id: id) else { throw PealError.notFound("message") }
            guard message.state == .scheduled, let draft = try store.draft(app: app, id: id) else {
                throw Self.refusal(message.state, "changed")
            }
            return (draft, try store.draftDigest(app: app, id: id))
        }
        try await edit(&draft)
        return try await store.write(.control) { [draft, digest] store in
            guard try store.draftDigest(app: app, id: id) == digest else { return nil }
            if let condition = draft.audience.condition { _ = try store.resolved(condition, app: app) }
            guard try store.replaceDraft(draft, now: call.now) else { return nil }
            try store.audit(call, app: app, "message.change", "message \(id)")
            guard var report = try store.report(app: app, id: id) else { throw PealError.notFound("message") }
            report.overview = try store.overview(app: app, id: id)
            report.draft = draft
            return report
        }
    }

    /// A message's new rate.
    package struct RateChange: Sendable, Hashable {
        /// nil removes the limit.
        package let perSecond: Int64?

        package init(perSecond: Int64?) { self.perSecond = perSecond }
    }

    /// Stops what has not been sent yet. A cancelled message may be cancelled again.
    /// - Throws: `not_found`; `conflict` when it has ended otherwise.
    package func cancel(
        _ id: MessageID, app: AppKey, _ call: VerbCall, reply: @escaping @Sendable (MessageReport) throws -> Reply
    ) async throws -> Reply {
        do {
            return try await apply(.cancel, to: id, app: app, call, reply: reply)
        } catch let refusal as PealError where refusal.code == .conflict {
            // The message can no longer be cancelled reliably, but a device that has not shown it may still drop it.
            _ = try await store.write(.control) { try $0.cancelMoments(app: app, message: id, now: call.now) }
            throw refusal
        }
    }

    /// Holds a message until it is resumed. A paused message may be paused again.
    /// - Throws: `not_found`; `conflict` when it has ended.
    package func pause(
        _ id: MessageID, app: AppKey, _ call: VerbCall, reply: @escaping @Sendable (MessageReport) throws -> Reply
    ) async throws -> Reply {
        try await apply(.pause, to: id, app: app, call, reply: reply)
    }

    /// Lets a paused message continue. A message that is being sent may be resumed too: its quarantined slices are
    /// released.
    /// - Throws: `not_found`; `conflict` when it has ended.
    package func resume(
        _ id: MessageID, app: AppKey, _ call: VerbCall, reply: @escaping @Sendable (MessageReport) throws -> Reply
    ) async throws -> Reply {
        try await apply(.resume, to: id, app: app, call, reply: reply)
    }

    /// What a person does with a message. The raw value is for error messages.
    private enum Control: String {
        case cancel = "cancelled"
        case pause = "paused"
        case resume = "resumed"

        /// In the audit log.
        var action: String {
            switch self {
            case .cancel: "message.cancel"
            case .pause: "message.pause"
            case .resume: "message.resume"
            }
        }

        /// The state in which it leaves the message.
        func state(of message: Message, now: Timestamp) -> Message.State {
            switch self {
            case .cancel: .cancelled
            case .pause: .paused
            case .resume: message.state == .paused ? message.resumed(at: now) : message.state
            }
        }
    }

    private func apply(
        _ control: Control, to id: MessageID, app: AppKey, _ call: VerbCall,
        reply: @escaping @Sendable (MessageReport) throws -> Reply
    ) async throws -> Reply {
        let answer = try await store.commit(.control, call, reply: reply) { store in
            guard let message = try store.message(app: app, id: id) else { throw PealError.notFound("message") }
            let state = control.state(of: message, now: call.now)
            let isFreed = try control == .resume && Self.freeQuarantined(message, call, in: store)
            if isFreed, message.windowUntil != nil || message.state == state {
                try store.audit(call, app: app, control.action, "message \(id)")
            } else if message.windowUntil != nil {
                try Self.stop(message, control, call, in: store)
            } else if message.state != state {
                guard message.state.successors.contains(state),
                    try store.moveMessage(app: app, id: id, from: [message.state], to: state, now: call.now) != nil
                else { throw Self.refusal(message.state, control.rawValue) }
                try store.audit(call, app: app, control.action, "message \(id)")
            } else if message.state.isFinal, control != .cancel {
                throw Self.refusal(message.state, control.rawValue)
            }
            return try Self.report(id, app: app, in: store)
        }.reply
        engine.interrupt(id)
        engine.wake()
        return answer
    }

    /// Releases the quarantined slices of a message that has not ended. Returns whether there were any.
    private static func freeQuarantined(
        _ message: Message, _ call: VerbCall, in store: any StoreWriting
    ) throws -> Bool {
        guard !message.state.isFinal, message.state != .paused else { return false }
        return try store.resumeQuarantined(app: message.app, id: message.id) > 0
    }

    /// A message with a delivery window is cancelled if some of its users still wait. It cannot be paused.
    private static func stop(
        _ message: Message, _ control: Control, _ call: VerbCall, in store: any StoreWriting
    ) throws {
        guard control == .cancel else {
            throw PealError(
                .conflict, "a message with a window cannot be \(control.rawValue); cancel it and send another")
        }
        guard message.state != .cancelled else { return }
        guard try store.cancelMoments(app: message.app, message: message.id, now: call.now) > 0 else {
            throw refusal(message.state, control.rawValue)
        }
        try store.audit(call, app: message.app, control.action, "message \(message.id)")
    }

    private static func refusal(_ state: Message.State, _ verb: String) -> PealError {
        PealError(.conflict, "the message is \(state.name) and cannot be \(verb)")
    }

    /// The message with its overview and its draft.
    /// - Throws: `not_found`.
    package static func report(
        _ id: MessageID, app: AppKey, in store: any StoreReading
    ) throws -> MessageReport {
        guard var report = try store.report(app: app, id: id) else { throw PealError.notFound("message") }
        report.overview = try store.overview(app: app, id: id)
        report.draft = try store.draft(app: app, id: id)
        return report
    }
}
