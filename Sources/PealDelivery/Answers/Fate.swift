internal import PealCore

/// What an answer means for the one device it is about.
enum Fate: Sendable, Hashable {
    /// It ended.
    case settled(Outcome, reason: String)
    /// It ended, and the address is dead.
    case retired(since: Timestamp?, isSuspicious: Bool, reason: String)
    /// It is to be tried once more, later.
    case deferred(Wait, reason: String)
    /// It was not tried: the attempt does not count, and the route has trouble.
    case returned(Trouble, reason: String)

    /// For how long one device is put off.
    enum Wait: Sendable, Hashable {
        /// The address alone is throttled; nil or zero = the policy decides.
        case address(after: Duration?)
        /// The provider had trouble of its own.
        case provider(after: Duration?)
        /// The request was written and no answer came.
        case lost
        /// It was not tried, since the peer behind its address wants to be left alone: the attempt does not count.
        case peer(after: Duration)
    }

    /// What keeps a route from being used, the lightest first.
    enum Trouble: Sendable, Hashable {
        case unsent
        case reconnect
        case refreshCredential
        case hold(after: Duration)
        case stop

        var weight: Int {
            switch self {
            case .unsent: 0
            case .reconnect: 1
            case .refreshCredential: 2
            case .hold: 3
            case .stop: 4
            }
        }
    }
}

extension Fate.Wait {
    /// From such a hold on it is no sign of load: FCM's for a device whose push service the Firebase project has no
    /// valid key for, MPNS' for a channel that is used up. However many there are, others are not concerned.
    private static let ownTrouble = Duration.seconds(600)

    /// Whether it says nothing of the route.
    var isOfTheAddressAlone: Bool {
        if case .address(let after?) = self { after >= Self.ownTrouble } else { false }
    }
}

extension Fate {
    /// Reduces an answer by the meaning of its verdict.
    init(_ answer: Answer, lostAnswer: MessageOptions.LostAnswer) {
        let reason = answer.reason
        switch answer.result {
        case .unsent: self = .returned(.unsent, reason: reason)
        case .held(let after): self = .deferred(.peer(after: after), reason: reason)
        case .lost where lostAnswer == .drop: self = .settled(.rejected, reason: Reason.lostAnswer)
        case .lost: self = .deferred(.lost, reason: Reason.lostAnswer(reason))
        case .verdict(let verdict): self.init(verdict, reason)
        }
    }

    private init(_ verdict: Verdict, _ reason: String) {
        switch verdict {
        case .accepted: self = .settled(.accepted, reason: reason)
        case .rejectMessage: self = .settled(.rejected, reason: reason)
        case .retireAddress(let since, let isSuspicious):
            self = .retired(since: since, isSuspicious: isSuspicious, reason: reason)
        case .holdAddress(let after): self = .deferred(.address(after: after), reason: reason)
        case .retry(let after): self = .deferred(.provider(after: after), reason: reason)
        case .holdApp(let after): self = .returned(.hold(after: after), reason: reason)
        case .refreshCredential: self = .returned(.refreshCredential, reason: reason)
        case .reconnect: self = .returned(.reconnect, reason: reason)
        case .stopApp: self = .returned(.stop, reason: reason)
        }
    }
}
