/// Receives the verbs' announcements of committed work. The store remains authoritative: an engine that misses a call
/// finds the work in the store a moment later.
package protocol DeliveryEngine: Sendable {
    /// What a transaction that accepts a message needs to lease slices to this process; nil while nothing is sent.
    /// Asked for just before the transaction begins, because leases count from here.
    var leaseOffer: LeaseOffer? { get }
    /// Takes slices that were leased under `offer` in the transaction that accepted `job`.
    func take(_ slices: [Slice], of job: DeliveryJob, under offer: LeaseOffer)
    /// Announces committed work.
    func wake()
    /// The message was paused, cancelled or resumed: start no further request for it.
    func interrupt(_ message: MessageID)
    /// An app's credential changed: discard what the engine has cached of it.
    func credentialsChanged(at slot: CredentialSlot)
}

/// An engine's readiness to take the slices of a message that is about to be accepted.
package struct LeaseOffer: Sendable, Hashable {
    /// The name under which the process leases slices.
    package let owner: String
    /// How many interruptions the engine had received before. One that is announced later may concern the message.
    package let interruptions: Int
    /// The end of the leases. It counts from the offer and not from the arrival of the request, whose body may have
    /// taken longer than a lease.
    package let leaseUntil: Timestamp
    /// When it was made, on `TimeSource.uptime`.
    package let madeAt: Duration

    package init(owner: String, interruptions: Int, leaseUntil: Timestamp, madeAt: Duration) {
        self.owner = owner
        self.interruptions = interruptions
        self.leaseUntil = leaseUntil
        self.madeAt = madeAt
    }
}

/// A message as a worker sees it.
package struct DeliveryJob: Sendable {
    package let message: Message
    package let content: Content
    package let options: MessageOptions
    /// Whether the message is kept out of statistics.
    package let isTest: Bool
    /// Whether the keys of each slice are its audience when it is accepted, so that nothing else need be read. A job
    /// that was read from the store does not say so.
    package private(set) var isPlainList = false
    /// Whether it is a plain list of devices and addresses, which stay in the audience. Devices that are named by user
    /// or identifier leave it when another user signs in.
    package private(set) var isLastingList = false
    /// The devices of small slices of a plain list, as they were when it was accepted. A job that was read from the
    /// store has none.
    package private(set) var pages: [Slice.ID: DevicePage] = [:]

    package init(message: Message, content: Content, options: MessageOptions, isTest: Bool = false) {
        self.message = message
        self.content = content
        self.options = options
        self.isTest = isTest
    }

    /// The job that a worker will see for the draft.
    /// - Parameter pages: `Plan.pages`.
    package init(_ draft: MessageDraft, pages: [Slice.ID: DevicePage] = [:]) {
        self.init(message: Message(draft), content: draft.content, options: draft.options, isTest: draft.isTest)
        let audience = draft.audience
        isPlainList =
            audience.isExplicit && audience.condition == nil && audience.excludedTopics.isEmpty
            && !audience.interactiveOnly
        if isPlainList { self.pages = pages }
        isLastingList = isPlainList && audience.users.isEmpty && audience.identifiers.isEmpty
    }

    /// The effective options on one platform.
    package func options(on platform: Platform) -> MessageOptions {
        let options = options.resolved(for: platform, in: content)
        return message.windowUntil == nil ? options : options.inWindow(of: message.id, on: platform)
    }
}

/// What planning made of a message that was just accepted.
package struct Plan: Sendable {
    package let state: Message.State
    package let leasedSlices: [Slice]
    /// The devices of some of `leasedSlices`, as the plan found them.
    package let pages: [Slice.ID: DevicePage]
    /// The approximate number of devices; 0 only if there are none.
    package let audienceEstimate: Int

    package init(
        state: Message.State, leasedSlices: [Slice], pages: [Slice.ID: DevicePage] = [:], audienceEstimate: Int = 0
    ) {
        self.state = state
        self.leasedSlices = leasedSlices
        self.pages = pages
        self.audienceEstimate = audienceEstimate
    }
}

/// The name of a process on a database, under which it leases slices and records that it is running.
package enum ServerName {
    /// The prefix for servers that send nothing and take no share of push networks' limits.
    package static let pausedPrefix = "paused-"

    package static func unique(isPaused: Bool, _ randomness: any Randomness) -> String {
        (isPaused ? pausedPrefix : "peal-") + Hex.encode(randomness.bytes(8))
    }
}
