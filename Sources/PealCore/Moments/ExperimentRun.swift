/// How a campaign's experiment assigns its users. Another share begins a new run; messages of earlier runs do not count
/// in it.
package struct ExperimentRun: Sendable, Hashable {
    /// An input of the assignment.
    package let salt: String
    /// The share of users whose phones choose the moment.
    package let share: Double
    /// Whether a user has the same arm in all campaigns.
    package let isPerUser: Bool
    /// When the first message was sent, or the share was changed.
    package let startedAt: Timestamp

    package init(salt: String, share: Double, isPerUser: Bool = false, startedAt: Timestamp) {
        self.salt = salt
        self.share = share
        self.isPerUser = isPerUser
        self.startedAt = startedAt
    }
}

/// The end of a run: the result that it had, and the share of the next one.
package struct ShareChange: Sendable, Hashable {
    package let at: Timestamp
    package let actor: String
    package let formerShare: Double
    package let share: Double
    package let result: Result

    package init(at: Timestamp, actor: String, formerShare: Double, share: Double, result: Result) {
        self.at = at
        self.actor = actor
        self.formerShare = formerShare
        self.share = share
        self.result = result
    }

    package struct Result: Sendable, Hashable {
        /// The raw value of the decision.
        package let verdict: String
        /// Matured messages and those of them that were opened.
        package let arms: [Arm: Count]
        /// Relative to the traditional rate; nil without opens there.
        package let lift: Double?
        package let liftInterval: ClosedRange<Double>?

        package init(verdict: String, arms: [Arm: Count], lift: Double?, liftInterval: ClosedRange<Double>?) {
            self.verdict = verdict
            self.arms = arms
            self.lift = lift
            self.liftInterval = liftInterval
        }
    }

    package struct Count: Sendable, Hashable {
        package let messages: Int
        package let opens: Int

        package init(messages: Int, opens: Int) {
            self.messages = messages
            self.opens = opens
        }
    }
}

/// How a user's messages of a campaign are delivered. The raw value is stored.
package enum Arm: Int64, CaseIterable, Sendable, Hashable {
    /// The server sends them immediately.
    case traditional = 0
    /// The device chooses a moment in the delivery window.
    case contextAware = 1

    /// The arm's name in the APIs.
    package var name: String {
        switch self {
        case .traditional: "traditional"
        case .contextAware: "context_aware"
        }
    }
}

/// Assigns users to the arms of a campaign's experiment: a pure function of user and campaign, so that all servers
/// agree. This type defines the input of the hash and interprets the hash; the store computes SHA-256.
package enum ArmAssignment {
    /// The bytes to hash with SHA-256: a version and four names, separated by U+001F.
    /// - Parameters:
    ///   - app: The bundle id, or the app's id if it has none.
    ///   - salt: A different value for each run of an experiment.
    package static func input(app: String, salt: String, campaign: String, userID: String) -> [UInt8] {
        Array(["ab1", app, salt, campaign, userID].joined(separator: "\u{1F}").utf8)
    }

    /// A user's number in 0 ..< 1: the first 8 bytes of the hash, big-endian, divided by 2⁶⁴.
    package static func unit(ofDigest digest: some Sequence<UInt8>) -> Double {
        Double(digest.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }) / 18_446_744_073_709_551_616
    }

    /// - Parameter share: The share of users, from 0 to 1, whose messages are sent at good moments.
    package static func arm(ofDigest digest: some Sequence<UInt8>, share: Double) -> Arm {
        unit(ofDigest: digest) < share ? .contextAware : .traditional
    }
}

/// Changes the share of experiments.
package struct ExperimentVerbs: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

    /// Ends a run of a campaign's experiment and begins one with another share. Users keep their arm as far as the new
    /// share permits. Messages that were sent before do not count any more. Shares are kept in millionths.
    /// - Parameter result: what `run` had found; it is kept.
    /// - Throws: `not_found` if no experiment runs; `conflict` if it has that share, or another run has begun.
    package func changeShare(
        of campaign: String, to share: Double, after run: ExperimentRun, _ result: ShareChange.Result, app: AppKey,
        _ call: VerbCall, reply: @escaping @Sendable (ShareChange) throws -> Reply
    ) async throws -> Reply {
        let share = (share * 1e6).rounded() / 1e6
        let change = ShareChange(
            at: call.now, actor: call.actor.name ?? call.actor.id, formerShare: run.share, share: share, result: result)
        return try await store.commit(.control, call, reply: { _ in try reply(change) }) { store in
            guard try store.experimentRun(of: campaign, app: app) != nil else {
                throw PealError.notFound("experiment")
            }
            guard share != run.share else {
                throw PealError(.conflict, "the experiment already has this share")
            }
            guard try store.changeShare(change, after: run, of: campaign, app: app) else {
                throw PealError(.conflict, "the share has changed meanwhile; read it again")
            }
            try store.audit(call, app: app, "experiment.share", "campaign \(campaign) from \(run.share) to \(share)")
        }.reply
    }
}
