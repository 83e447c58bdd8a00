internal import PealCore

/// What a worker finds when it opens a slice: receives the slice, hands on what is to be done with it.
struct SliceOpening: Sendable {
    /// What follows from the message's state, its life, and the credential.
    enum Course: Sendable {
        case send(Access, any Provider)
        /// Everybody left in the slice ends without a send.
        case settleRest(Outcome, reason: String)
        /// Given back: the store holds it, or it comes back later.
        case release(readyAt: Timestamp?)
    }

    let work: MessageWork
    let candidates: KeySet
    let course: Course
    /// Of the credential, as `AccessCache.version` tells it.
    let accessVersion: Int
}

extension DeliveryContext {
    /// How old a message's state may be when a slice is opened. Changes made by this process are known at once.
    private static let stateLife: Duration = .seconds(1)

    /// Reads what the slice needs, all at once.
    /// - Returns: nil when its message is gone.
    func open(_ slice: Slice) async throws -> SliceOpening? {
        let key = accessKey(slice)
        let uptime = time.uptime
        let interruptions = messages.interruptions
        let version = key.map { access.version(of: $0) } ?? 0
        let known = messages.work(slice.id.message, notBefore: uptime - Self.stateLife)
        let knownAccess = key.flatMap { access.find($0, now: uptime) }
        let found = try await store.read { reader in
            let job = try known?.job ?? reader.job(app: slice.id.app, id: slice.id.message)
            var access = knownAccess?.access
            if let key, knownAccess == nil {
                let stored = try reader.credential(app: key.app, provider: key.provider, environment: key.environment)
                access = stored.map { Access($0.credential, $0.record) }
            }
            return (job: job, access: access, candidates: try reader.candidates(of: slice))
        }
        guard let job = found.job else { return nil }
        if let key, knownAccess == nil { access.keep(found.access, for: key, version: version, now: uptime) }
        let work = known ?? keep(job, readAt: uptime, readAfter: interruptions)
        return SliceOpening(
            work: work, candidates: found.candidates, course: course(slice, work, found.access),
            accessVersion: version)
    }

    /// nil where no push network is left, or none that this server speaks.
    func accessKey(_ slice: Slice) -> AccessCache.Key? {
        guard let provider = slice.id.route.provider, providers[provider] != nil else { return nil }
        return AccessCache.Key(app: slice.id.app, provider: provider, environment: slice.id.route.environment)
    }

    private func keep(_ job: DeliveryJob, readAt: Duration, readAfter interruptions: Int) -> MessageWork {
        let earlier = messages.work(job.message.id, notBefore: nil)
        let work =
            earlier.map { MessageWork(job: job, readAt: readAt, keepingVariantsOf: $0) }
            ?? MessageWork(job: job, readAt: readAt)
        messages.keep(work, readAfter: interruptions)
        return work
    }

    private func course(_ slice: Slice, _ work: MessageWork, _ access: Access?) -> SliceOpening.Course {
        switch work.job.message.state {
        case .cancelled: return .settleRest(.suppressed, reason: Reason.cancelled)
        case .expired: return .settleRest(.expired, reason: Reason.expired)
        case .failed: return .settleRest(.suppressed, reason: Reason.messageFailed)
        case .paused, .scheduled: return .release(readyAt: nil)
        case .planning, .sending, .sent: break
        }
        guard let name = slice.id.route.provider, let provider = providers[name] else {
            return .settleRest(.suppressed, reason: Reason.noProvider)
        }
        let lifetime = work.lifetime(on: slice.id.route)
        if lifetime.isOver(at: time.now) { return .settleRest(.expired, reason: Reason.expired) }
        guard let access else { return .settleRest(.suppressed, reason: Reason.noCredential) }
        return .send(access, provider)
    }
}
