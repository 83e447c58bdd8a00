internal import PealCore

/// What is known of a page's devices: receives a snapshot of the answers, and hands on fates in the order of keys.
/// Devices without a fate were accepted, with nothing to remark.
struct PageFates: Sendable {
    let page: SentPage
    let keys: [DeviceKey]
    let revisions: [Int64]
    let variantOf: [UInt16]
    /// The cursor after all of them are concluded.
    let through: DeviceKey
    /// Everything but plain acceptance, by index in `keys`, ascending.
    private(set) var exceptions: [(index: Int, fate: Fate)] = []
    /// Indices of devices without an answer yet.
    private(set) var waiting: [Int] = []
    /// Indices of devices that were reached in the provider's other environment, and its route.
    private(set) var healed: [Int] = []
    private(set) var healedRoute: Route?
    private(set) var tally = RouteBreaker.Tally()
    /// The gravest trouble, and its reason.
    private(set) var trouble: (kind: Fate.Trouble, reason: String)?

    /// - Parameter isFinal: Whether devices without an answer count as lost.
    init(_ page: SentPage, _ snapshot: PageFlight.Snapshot?, lostAnswer: MessageOptions.LostAnswer, isFinal: Bool) {
        self.page = page
        keys = page.keys
        revisions = page.revisions
        variantOf = page.variantOf
        through = page.through
        var known: [(index: Int, fate: Fate)] = page.failures.map { ($0.key, .settled(.rejected, reason: $0.value)) }
        if let snapshot {
            known += snapshot.exceptions.map {
                (page.position(of: $0.key), Fate($0.value, lostAnswer: lostAnswer))
            }
            if !snapshot.isComplete {
                let open = snapshot.isAnswered.indices.filter { !snapshot.isAnswered[$0] }
                    .map(page.position)
                if isFinal {
                    let lost = Fate(ProviderAnswer(.lost, reason: Reason.lostAnswer), lostAnswer: lostAnswer)
                    known += open.map { ($0, lost) }
                } else {
                    waiting = open
                }
            }
        }
        known.sort { $0.index < $1.index }
        exceptions = known
        weigh(answered: keys.count - page.failures.count - waiting.count)
    }

    /// Only the devices at `indices` (ascending), which become 0, 1, 2, …
    init(_ whole: PageFates, indices: [Int]) {
        page = whole.page
        keys = indices.map { whole.keys[$0] }
        revisions = indices.map { whole.revisions[$0] }
        variantOf = indices.map { whole.variantOf[$0] }
        through = keys.last ?? whole.through
        let rank = Dictionary(uniqueKeysWithValues: indices.enumerated().map { ($1, $0) })
        exceptions = whole.exceptions.compactMap { exception in
            rank[exception.index].map { (index: $0, fate: exception.fate) }
        }
        weigh(answered: keys.count)
    }

    /// Indices of devices whose address may belong to the provider's other environment.
    func doubted(by provider: any Provider) -> [Int] {
        exceptions.compactMap { index, fate in
            guard case .retired(_, isSuspicious: true, let reason) = fate, provider.doubtsEnvironment(reason) else {
                return nil
            }
            return index
        }
    }

    /// Takes over the other environment's answers to the devices at `doubted`, which are 0, 1, 2, … there. Where it
    /// does not know a device either, the first answer holds.
    mutating func heal(_ doubted: [Int], with elsewhere: PageFates, on route: Route) {
        let fates = Dictionary(uniqueKeysWithValues: elsewhere.exceptions.map { ($0.index, $0.fate) })
        var news: [Int: Fate] = [:]
        for (number, index) in doubted.enumerated() where elsewhere.page.failures[number] == nil {
            let fate = fates[number] ?? .settled(.accepted, reason: "")
            switch fate {
            case .settled(.accepted, _):
                news[index] = .settled(.accepted, reason: Reason.environmentHealed)
                healed.append(index)
            case .retired(_, isSuspicious: true, _): break
            case .returned(_, let reason): news[index] = .deferred(.provider(after: nil), reason: reason)
            case .retired, .settled, .deferred: news[index] = fate
            }
        }
        healedRoute = route
        replace(news)
    }

    /// Defers devices that could not be tried in the other environment now.
    mutating func postpone(_ doubted: [Int]) {
        let news = exceptions.filter { doubted.contains($0.index) }.map { exception in
            guard case .retired(_, _, let reason) = exception.fate else { return exception }
            return (exception.index, .deferred(.address(after: nil), reason: reason))
        }
        replace(Dictionary(uniqueKeysWithValues: news))
    }

    private mutating func replace(_ news: [Int: Fate]) {
        exceptions = exceptions.map { ($0.index, news[$0.index] ?? $0.fate) }
        tally = .init()
        trouble = nil
        weigh(answered: keys.count - page.failures.count - waiting.count)
    }

    private mutating func weigh(answered: Int) {
        tally.answers = answered
        tally.accepted = answered
        for (index, fate) in exceptions where page.failures.isEmpty || page.failures[index] == nil {
            if case .settled(.accepted, _) = fate { continue }
            tally.accepted -= 1
            switch fate {
            case .settled: break
            case .retired(_, let isSuspicious, _): if isSuspicious { tally.suspicious += 1 }
            case .deferred(.peer, _): tally.answers -= 1
            case .deferred(let wait, _):
                guard !wait.isOfTheAddressAlone else { continue }
                tally.deferred += 1
                if case .address = wait { continue }
                tally.troubled += 1
            case .returned(let kind, let reason):
                tally.answers -= 1
                if kind.weight > trouble?.kind.weight ?? -1 { trouble = (kind, reason) }
            }
        }
    }

    /// How many devices remain without the untried ones at the end.
    var countWithoutTail: Int {
        var count = keys.count
        for (index, fate) in exceptions.reversed() {
            guard index == count - 1, case .returned = fate else { break }
            count -= 1
        }
        return count
    }
}
