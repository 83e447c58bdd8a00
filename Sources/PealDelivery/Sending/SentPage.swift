internal import PealCore

/// A page in flight: its devices, the order that a provider works on, and, when they have been awaited, the answers.
struct SentPage: Sendable {
    let keys: [DeviceKey]
    let revisions: [Int64]
    /// The index of the variant that each device gets.
    let variantOf: [UInt16]
    /// The locale of each variant.
    let locales: [String?]
    /// The index in the order of each device of `keys`, -1 for those to which nothing is sent; nil if both indices are
    /// the same.
    let orderIndices: [Int32]?
    /// What was decided without asking the provider, by index in `keys`, ascending.
    let rulings: [PageRuling]
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
    /// Every answer except plain acceptance, by index in `keys`, ascending.
    private(set) var exceptions: [(index: Int, answer: ProviderAnswer)] = []
    /// Indices of devices without an answer yet.
    private(set) var waiting: [Int] = []
    /// Indices of devices that were reached in the provider's other environment, and its route.
    private(set) var healed: [Int] = []
    private(set) var healedRoute: Route?
    /// What the answers say about the route.
    private(set) var tally = RouteBreaker.Tally()
    /// The most serious problem of the route, and its reason.
    private(set) var problem: (kind: RouteProblem, reason: String)?

    /// A page that was read, with what the gate and the rendering decided.
    init(_ page: DevicePage, _ choice: Variants.Choice, _ rulings: [PageRuling], now: Timestamp) {
        keys = page.keys
        revisions = page.revisions
        variantOf = choice.ofDevice
        locales = choice.variants.map(\.locale)
        (through, isLast, readAt, sentAt) = (page.through, page.isLast, page.readAt, now)
        guard choice.hasFailures || !rulings.isEmpty else {
            (orderIndices, self.rulings) = (nil, [])
            return
        }
        self.rulings = choice.rulings(besides: rulings)
        var indices = [Int32](repeating: 0, count: page.keys.count)
        for ruling in self.rulings { indices[ruling.index] = -1 }
        var next: Int32 = 0
        for index in indices.indices where indices[index] == 0 {
            indices[index] = next
            next += 1
        }
        orderIndices = indices
    }

    private init(_ whole: SentPage, _ indices: [Int]) {
        keys = indices.map { whole.keys[$0] }
        revisions = indices.map { whole.revisions[$0] }
        variantOf = indices.map { whole.variantOf[$0] }
        locales = whole.locales
        orderIndices = indices.map { whole.orderIndices?[$0] ?? Int32($0) }
        rulings = []
        (through, isLast) = (keys.last ?? whole.through, true)
        (readAt, sentAt, order) = (whole.readAt, whole.sentAt, whole.order)
        (awaitedUntil, lag) = (whole.awaitedUntil, whole.lag)
    }

    /// The devices at `indices` (ascending), as a separate page in the same order. They were all sent to.
    func part(_ indices: [Int]) -> SentPage { SentPage(self, indices) }

    /// The indices in `keys` of the devices for which a request is made; nil for all.
    var sendableIndices: [Int]? { orderIndices.map { order in order.indices.filter { order[$0] >= 0 } } }

    /// The index in the order of the device at `index` in `keys`; -1 if nothing is sent to it.
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

/// The answers.
extension SentPage {
    /// Records the answers that are known.
    /// - Parameters:
    ///   - answers: nil if no device was sent to.
    ///   - isFinal: Whether devices without an answer count as lost.
    mutating func take(_ answers: PageFlight.Answers?, isFinal: Bool) {
        guard let answers else { return }
        let open = take(answers)
        if isFinal {
            exceptions += open.map { ($0, ProviderAnswer(.lost, reason: Reason.lostAnswer)) }
        } else {
            waiting = open
        }
        exceptions.sort { $0.index < $1.index }
        weigh()
    }

    /// Adds the answers that are not plain acceptance to `exceptions`. Returns the devices without an answer.
    private mutating func take(_ answers: PageFlight.Answers) -> [Int] {
        guard let orderIndices else {
            exceptions = answers.exceptions.map { ($0.key, $0.value) }
            return answers.isComplete ? [] : answers.isAnswered.indices.filter { !answers.isAnswered[$0] }
        }
        var open: [Int] = []
        for (index, orderIndex) in orderIndices.enumerated() where orderIndex >= 0 {
            if !answers.isAnswered[Int(orderIndex)] {
                open.append(index)
            } else if let answer = answers.exceptions[Int(orderIndex)] {
                exceptions.append((index, answer))
            }
        }
        return open
    }

    /// Indices of devices whose address may belong to the provider's other environment.
    func doubted(by provider: any Provider) -> [Int] {
        exceptions.compactMap { index, answer in
            guard case .verdict(.retireAddress(_, isSuspicious: true)) = answer.result,
                provider.doubtsEnvironment(answer.reason)
            else { return nil }
            return index
        }
    }

    /// Applies the other environment's answers for the devices at `doubted`, which have the indices 0, 1, 2, … there.
    /// If that environment does not know a device either, the first answer remains.
    mutating func heal(_ doubted: [Int], with elsewhere: SentPage, on route: Route) {
        let answers = Dictionary(uniqueKeysWithValues: elsewhere.exceptions.map { ($0.index, $0.answer) })
        var news: [Int: ProviderAnswer] = [:]
        for (number, index) in doubted.enumerated() where elsewhere.orderIndex(of: number) >= 0 {
            let answer = answers[number] ?? .accepted
            switch answer.result {
            case .verdict(.accepted):
                news[index] = ProviderAnswer(.verdict(.accepted), reason: Reason.environmentHealed)
                healed.append(index)
            case .verdict(.retireAddress(_, isSuspicious: true)): break
            case _ where answer.routeProblem != nil: news[index] = answer.with(.retry(after: nil))
            case .verdict, .lost, .unsent, .held: news[index] = answer
            }
        }
        healedRoute = route
        exceptions = exceptions.map { ($0.index, news[$0.index] ?? $0.answer) }
        weigh()
    }

    private mutating func weigh() {
        let answered = keys.count - rulings.count - waiting.count
        tally = .init()
        problem = nil
        tally.answers = answered
        tally.accepted = answered
        tally.healed = healed.count
        for (_, answer) in exceptions where answer.result != .verdict(.accepted) {
            tally.accepted -= 1
            if answer.isOfHostAlone { tally.answers -= 1 } else { tally.count(answer.result) }
            if let kind = answer.routeProblem, kind.weight > problem?.kind.weight ?? -1 {
                problem = (kind, answer.reason)
            }
        }
    }

    /// The devices for which no request was made, or whose request was refused because of the route.
    var untried: [DeviceKey] {
        exceptions.filter { $0.answer.routeProblem != nil || $0.answer.result == .unsent }.map { keys[$0.index] }
    }

    /// How many devices remain if the untried ones at the end are not counted.
    var countWithoutTail: Int {
        var count = keys.count
        for (index, answer) in exceptions.reversed() {
            guard index == count - 1, answer.routeProblem != nil else { break }
            count -= 1
        }
        return count
    }
}

extension RouteBreaker.Tally {
    /// Counts an answer that is no acceptance.
    fileprivate mutating func count(_ result: ProviderAnswer.Result) {
        switch result {
        case .verdict(.accepted), .verdict(.rejectMessage): break
        case .verdict(.retireAddress(_, let isSuspicious)): if isSuspicious { suspicious += 1 }
        case .verdict(.holdAddress(let after)): if !BackOff.isOfTheAddressAlone(after) { deferred += 1 }
        case .verdict(.retry), .lost:
            deferred += 1
            deferredByProvider += 1
        case .held, .unsent, .verdict(.holdApp), .verdict(.refreshCredential), .verdict(.reconnect),
            .verdict(.stopApp):
            answers -= 1
        }
    }
}

extension Variants.Choice {
    /// `rulings`, and one for every other device whose variant cannot be rendered; ascending by index.
    fileprivate func rulings(besides rulings: [PageRuling]) -> [PageRuling] {
        var all = rulings
        if hasFailures {
            let ruled = Set(rulings.map(\.index))
            for (index, variant) in ofDevice.enumerated() where !ruled.contains(index) {
                guard let reason = variants[Int(variant)].failure else { continue }
                all.append(PageRuling(index: index, decision: .reject(reason: reason)))
            }
        }
        return all.sorted { $0.index < $1.index }
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
