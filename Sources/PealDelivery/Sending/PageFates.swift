internal import PealCore

/// What is known about a page's devices: receives the answers so far, and returns fates in the order of keys.
/// Devices without a fate were accepted, with nothing to remark.
struct PageFates: Sendable {
    let page: SentPage
    /// Everything but plain acceptance, by index in the page, ascending.
    private(set) var exceptions: [(index: Int, fate: Fate)] = []
    /// Indices of devices without an answer yet.
    private(set) var waiting: [Int] = []
    /// Indices of devices that were reached in the provider's other environment, and its route.
    private(set) var healed: [Int] = []
    private(set) var healedRoute: Route?
    private(set) var tally = RouteBreaker.Tally()
    /// The most serious problem, and its reason.
    private(set) var problem: (kind: Fate.RouteProblem, reason: String)?

    /// - Parameter isFinal: Whether devices without an answer count as lost.
    init(_ page: SentPage, _ answers: PageFlight.Answers?, lostAnswer: MessageOptions.LostAnswer, isFinal: Bool) {
        self.page = page
        var known = page.decided.map { (index: $0.key, fate: $0.value) }
        if let answers {
            let open = take(answers, lostAnswer, &known)
            if isFinal {
                let lost = Fate(ProviderAnswer(.lost, reason: Reason.lostAnswer), lostAnswer: lostAnswer)
                known += open.map { ($0, lost) }
            } else {
                waiting = open
            }
        }
        known.sort { $0.index < $1.index }
        exceptions = known
        weigh()
    }

    /// Adds the answers that are not plain acceptance to `known`. Returns the devices without an answer.
    private func take(
        _ answers: PageFlight.Answers, _ lostAnswer: MessageOptions.LostAnswer,
        _ known: inout [(index: Int, fate: Fate)]
    ) -> [Int] {
        guard let orderIndices = page.orderIndices else {
            known += answers.exceptions.map { ($0.key, Fate($0.value, lostAnswer: lostAnswer)) }
            return answers.isComplete ? [] : answers.isAnswered.indices.filter { !answers.isAnswered[$0] }
        }
        var open: [Int] = []
        for (index, orderIndex) in orderIndices.enumerated() where orderIndex >= 0 {
            if !answers.isAnswered[Int(orderIndex)] {
                open.append(index)
            } else if let answer = answers.exceptions[Int(orderIndex)] {
                known.append((index, Fate(answer, lostAnswer: lostAnswer)))
            }
        }
        return open
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

    /// Applies the other environment's answers for the devices at `doubted`, which have the indices 0, 1, 2, … there.
    /// If that environment does not know a device either, the first answer remains.
    mutating func heal(_ doubted: [Int], with elsewhere: PageFates, on route: Route) {
        let fates = Dictionary(uniqueKeysWithValues: elsewhere.exceptions.map { ($0.index, $0.fate) })
        var news: [Int: Fate] = [:]
        for (number, index) in doubted.enumerated() where elsewhere.page.decided[number] == nil {
            let fate = fates[number] ?? .settled(.accepted, reason: "")
            switch fate {
            case .settled(.accepted, _):
                news[index] = .settled(.accepted, reason: Reason.environmentHealed)
                healed.append(index)
            case .retired(_, isSuspicious: true, _): break
            case .returned(_, let reason): news[index] = .deferred(.provider(after: nil), reason: reason)
            case .retired, .settled, .deferred, .held: news[index] = fate
            }
        }
        healedRoute = route
        replace(news)
    }

    private mutating func replace(_ news: [Int: Fate]) {
        exceptions = exceptions.map { ($0.index, news[$0.index] ?? $0.fate) }
        tally = .init()
        problem = nil
        weigh()
    }

    private mutating func weigh() {
        let answered = page.keys.count - page.decided.count - waiting.count
        tally.answers = answered
        tally.accepted = answered
        for (index, fate) in exceptions where page.decided.isEmpty || page.decided[index] == nil {
            if case .settled(.accepted, _) = fate { continue }
            tally.accepted -= 1
            switch fate {
            case .settled, .held: break
            case .retired(_, let isSuspicious, _): if isSuspicious { tally.suspicious += 1 }
            case .deferred(.peer, _): tally.answers -= 1
            case .deferred(let wait, _):
                guard !wait.isOfTheAddressAlone else { continue }
                tally.deferred += 1
                if case .address = wait { continue }
                tally.deferredByProvider += 1
            case .returned(let kind, let reason):
                tally.answers -= 1
                if kind.weight > problem?.kind.weight ?? -1 { problem = (kind, reason) }
            }
        }
    }

    /// How many devices remain if the untried ones at the end are not counted.
    var countWithoutTail: Int {
        var count = page.keys.count
        for (index, fate) in exceptions.reversed() {
            guard index == count - 1, case .returned = fate else { break }
            count -= 1
        }
        return count
    }
}
