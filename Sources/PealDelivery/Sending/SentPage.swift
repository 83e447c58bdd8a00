internal import PealCore

/// Decides, between reading and rendering, which devices of a page are sent to now. `AppGate` applies the rules of apps
/// and messages; tests have their own rules.
protocol PageGate: Sendable {
    func needs(of job: DeliveryJob, in slice: Slice.ID) async throws -> GateNeeds

    /// The rates that limit the message.
    func rates(of job: DeliveryJob, in slice: Slice.ID) async throws -> GateRates

    /// - Parameter isSorting: The devices may be sent to later than now: only rules about time apply.
    /// - Returns: The devices that are not sent to now, each once; all others are.
    func rule(
        on page: DevicePage, of job: DeliveryJob, in slice: Slice.ID, isSorting: Bool, at now: Timestamp
    ) async throws -> [PageRuling]
}

/// What a gate needs to rule on a message.
struct GateNeeds: Sendable, Hashable {
    /// Whether it needs `DevicePage.people`, which take some time to read.
    var people = false
    /// Whether key ranges are sorted by instants before they are sent (`SortPass`), because many devices may wait.
    var sorting = false
}

/// Notifications per second, of all messages of an app and of one message; nil for no limit.
struct GateRates: Sendable, Hashable {
    var ofApp: Int64?
    var ofMessage: Int64?

    var isLimited: Bool { ofApp != nil || ofMessage != nil }
}

extension PageGate {
    func rates(of job: DeliveryJob, in slice: Slice.ID) async throws -> GateRates { GateRates() }
}

/// What a gate decided about one device of a page.
struct PageRuling: Sendable, Hashable {
    enum Decision: Sendable, Hashable {
        /// It is sent to later. The attempt does not count.
        case hold(until: Timestamp)
        /// It is never sent to.
        case suppress
    }

    /// The device's index in the page.
    let index: Int
    let decision: Decision
    /// For the delivery log.
    let reason: HoldReason

    var fate: Fate {
        switch decision {
        case .hold(let until): .held(until: until, reason: reason.rawValue)
        case .suppress: .settled(.suppressed, reason: reason.rawValue)
        }
    }

    /// Until when a device waits, and why.
    struct Hold: Sendable, Hashable {
        let until: Timestamp
        let reason: HoldReason
    }
}

/// A page in flight: its devices, and the order that a provider works on.
struct SentPage: Sendable {
    let keys: [DeviceKey]
    let revisions: [Int64]
    /// Number of the variant that each device gets.
    let variantOf: [UInt16]
    /// The index in the order of each device of `keys`, -1 for those to which nothing is sent; nil = the same.
    let orderIndices: [Int32]?
    /// What was decided without asking the provider, by index in `keys`.
    let decided: [Int: Fate]
    let through: DeviceKey
    let isLast: Bool
    let readAt: Timestamp
    let sentAt: Timestamp
    /// nil if no device of the page can be sent to.
    var order: PageOrder?
    var isProbe = false
    /// On `TimeSource.uptime`: since when its answers are awaited.
    var openSince: Duration = .zero
    /// On `TimeSource.uptime`: from then on, missing answers are lost. Extended by what `TimeSource.lag` grows from
    /// `lag`.
    var awaitedUntil: Duration = .zero
    var lag: Duration = .zero
    /// nil for single devices, which need none.
    var slot: PageBudget.Slot?

    /// A page that was read, with what the gate and the rendering decided.
    init(_ page: DevicePage, _ choice: Variants.Choice, _ rulings: [PageRuling], now: Timestamp) {
        keys = page.keys
        revisions = page.revisions
        variantOf = choice.ofDevice
        (through, isLast, readAt, sentAt) = (page.through, page.isLast, page.readAt, now)
        guard !choice.failures.isEmpty || !rulings.isEmpty else {
            (orderIndices, decided) = (nil, [:])
            return
        }
        var decided: [Int: Fate] = [:]
        if !choice.failures.isEmpty {
            for (index, variant) in choice.ofDevice.enumerated() {
                guard let failure = choice.variants[Int(variant)].failure else { continue }
                decided[index] = .settled(.rejected, reason: failure)
            }
        }
        for ruling in rulings { decided[ruling.index] = ruling.fate }
        var next: Int32 = 0
        orderIndices = page.keys.indices.map { index in
            guard decided[index] == nil else { return -1 }
            defer { next += 1 }
            return next
        }
        self.decided = decided
    }

    private init(_ whole: SentPage, _ indices: [Int]) {
        keys = indices.map { whole.keys[$0] }
        revisions = indices.map { whole.revisions[$0] }
        variantOf = indices.map { whole.variantOf[$0] }
        orderIndices = indices.map { whole.orderIndices?[$0] ?? Int32($0) }
        decided = [:]
        (through, isLast) = (keys.last ?? whole.through, true)
        (readAt, sentAt, order) = (whole.readAt, whole.sentAt, whole.order)
        (awaitedUntil, lag) = (whole.awaitedUntil, whole.lag)
    }

    /// The devices at `indices` (ascending), as a separate page in the same order. They were all sent to.
    func part(_ indices: [Int]) -> SentPage { SentPage(self, indices) }

    /// The devices of `page` for which a request is made.
    func sendable(of page: DevicePage) -> DevicePage {
        page.part(at: keys.indices.filter { decided[$0] == nil })
    }

    /// The index in the order of the device at `index` in `keys`, which was sent to.
    func orderIndex(of index: Int) -> Int { orderIndices.map { Int($0[index]) } ?? index }

    /// Whether every device that was sent to has an answer.
    func isComplete(_ answers: PageFlight.Answers) -> Bool {
        answers.isComplete || orderIndices?.allSatisfy { $0 < 0 || answers.isAnswered[Int($0)] } ?? false
    }

    /// Whether any device that was sent to has an answer.
    func isAnswered(_ answers: PageFlight.Answers) -> Bool {
        orderIndices?.contains { $0 >= 0 && answers.isAnswered[Int($0)] } ?? answers.isAnswered.contains(true)
    }
}

extension DevicePage {
    /// The devices at `indices`, ascending, as a separate page.
    func part(at indices: [Int]) -> DevicePage {
        var part = DevicePage(through: through, isLast: isLast, readAt: readAt, capacity: indices.count)
        arena.withUnsafeBytes { arena in
            for index in indices {
                part.append(
                    key: keys[index], address: UnsafeRawBufferPointer(rebasing: arena[addressRange(index)]),
                    revision: revisions[index], locale: locales[index])
                if !people.isEmpty { part.append(people[index]) }
            }
        }
        return part
    }
}
