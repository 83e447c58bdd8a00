internal import PealCore

/// Turns answers and rulings into what the store writes: receives one page of a slice (several, if they were answered
/// together or a problem ended them), and returns log rows, deferrals, retirements and the new cursor. Pure.
struct Conclusion: Sendable {
    /// The parameters of a conclusion.
    struct Terms: Sendable {
        /// The number of earlier attempts.
        var attempt: Int
        var life: PlatformLife
        var lostAnswer = MessageOptions.LostAnswer.resend
        var now: Timestamp
        /// When untried devices are ready again.
        var readyAt: Timestamp
        /// nil if all retirements are trusted.
        var suspicion: Suspicion?
        /// Until when the slice of the stragglers is leased.
        var stragglersLeasedUntil: Timestamp
        /// Whether the keys are numbers of addresses that belong to no device.
        var holdsAddresses: Bool
        /// `Slice.doubt` before these pages.
        var doubt = 0
    }

    /// What happens to devices whose retirement is doubted.
    struct Suspicion: Sendable {
        let until: Timestamp
        /// The number of attempts, this one included if it counts.
        let attempt: Int
    }

    private(set) var log: DeliveryLog
    /// Without the random `part`.
    private(set) var deferrals: [Settlement.Deferral] = []
    private(set) var retirements: [Settlement.Retirement] = []
    /// Devices that were reached in the provider's other environment.
    private(set) var moves: [Settlement.Move] = []
    /// Indices of the stragglers in the first page, which is the only one that may have any.
    private(set) var stragglers: [Int] = []
    private(set) var retryCount = 0
    /// Devices for which no request was made.
    private var untriedCount = 0
    /// Devices that were sent to although an earlier request may have reached them.
    var resentCount: Int { max(0, min(terms.doubt, log.count) - untriedCount) }
    /// nil when nothing was concluded.
    private(set) var cursorAfter: DeviceKey?
    /// Whether every device was concluded, so that the cursor passes the last page.
    private(set) var isWhole = true

    private let terms: Terms
    private var endings: [DeliveryLog.Ending]
    private var endingNumbers: [DeliveryLog.Ending: UInt16] = [:]
    private var endingOf: [UInt16] = []
    /// The index in `deferrals` of each kind of deferral, which is one without keys.
    private var deferralOf: [Settlement.Deferral: Int] = [:]
    private var delays: [BackOff.Wait: Duration] = [:]
    private let chance: UInt64
    /// When the devices were read, which is not later than when the rules were.
    private let readAt: Timestamp?

    init(_ pages: [SentPage], terms: Terms, chance: UInt64) {
        self.terms = terms
        self.chance = chance
        readAt = pages.first?.readAt
        endings = [DeliveryLog.Ending(.accepted, attempt: terms.attempt + 1)]
        log = DeliveryLog([])
        var keys: [DeviceKey] = []
        var localeOf: [UInt16] = []
        var locales: [String?] = []
        let kept = Self.kept(pages)
        for (number, page) in pages.enumerated() {
            let count = number < kept.pages ? page.keys.count : number == kept.pages ? kept.count : 0
            if count < page.keys.count { isWhole = false }
            guard count > 0 || page.keys.isEmpty && isWhole else { continue }
            take(page, count)
            keys = keys.isEmpty && count == page.keys.count ? page.keys : keys + page.keys.prefix(count)
            if let numbers = Self.numbers(of: page.locales, in: &locales) {
                localeOf += page.variantOf.prefix(count).map { numbers[Int($0)] }
            } else {
                let isWholePage = localeOf.isEmpty && count == page.keys.count
                localeOf = isWholePage ? page.variantOf : localeOf + page.variantOf.prefix(count)
            }
            cursorAfter = count == page.keys.count ? page.through : page.keys[count - 1]
        }
        for index in deferrals.indices { deferrals[index].keys.sort() }
        log = DeliveryLog(keys: keys, endings: endings, endingOf: endingOf, locales: locales, localeOf: localeOf)
    }

    /// The indices in `all` of a page's locales; nil if they do not change. Pages that were rendered at different times
    /// may number them differently.
    private static func numbers(of locales: [String?], in all: inout [String?]) -> [UInt16]? {
        if all.isEmpty { all = locales }
        guard all != locales else { return nil }
        var known: [String?: UInt16] = [:]
        for (number, locale) in all.enumerated() where known[locale] == nil { known[locale] = UInt16(number) }
        return locales.map { locale in
            if let number = known[locale] { return number }
            let number = UInt16(all.count)
            all.append(locale)
            known[locale] = number
            return number
        }
    }

    /// How much is concluded: whole pages, and devices of the page after them.
    private static func kept(_ pages: [SentPage]) -> (pages: Int, count: Int) {
        for number in pages.indices.reversed() {
            let count = pages[number].countWithoutTail
            if count == pages[number].keys.count, count > 0 { return (number + 1, 0) }
            if count > 0 { return (number, count) }
        }
        return pages.allSatisfy(\.keys.isEmpty) ? (pages.count, 0) : (0, 0)
    }

    private mutating func take(_ page: SentPage, _ count: Int) {
        let base = endingOf.count
        endingOf.append(contentsOf: repeatElement(0, count: count))
        for ruling in page.rulings where ruling.index < count {
            endingOf[base + ruling.index] = number(of: conclude(ruling.decision, page.keys[ruling.index]))
        }
        for (index, answer) in page.exceptions where index < count {
            endingOf[base + index] = number(of: conclude(answer, at: index, of: page))
        }
        if let route = page.healedRoute {
            for index in page.healed where index < count {
                moves.append(Settlement.Move(key: page.keys[index], revision: page.revisions[index], route: route))
            }
        }
        for index in page.waiting where index < count {
            put(page.keys[index], terms.attempt, at: terms.stragglersLeasedUntil, isLeased: true)
            stragglers.append(index)
            let ending = DeliveryLog.Ending(.moved, reason: Reason.lateAnswer, attempt: terms.attempt + 1)
            endingOf[base + index] = number(of: ending)
        }
    }

    private mutating func conclude(_ decision: PageRuling.Decision, _ key: DeviceKey) -> DeliveryLog.Ending {
        switch decision {
        case .hold(let hold):
            let turn = hold.turn(terms.life, now: terms.now)
            return untried(key, hold.reason.rawValue, readyAt: turn, isRuled: true)
        case .suppress(let reason):
            return DeliveryLog.Ending(.suppressed, reason: reason.rawValue, attempt: terms.attempt)
        case .reject(let reason):
            return DeliveryLog.Ending(.rejected, reason: reason, attempt: terms.attempt)
        }
    }

    private mutating func conclude(
        _ answer: ProviderAnswer, at index: Int, of page: SentPage
    ) -> DeliveryLog.Ending {
        let (key, reason) = (page.keys[index], answer.reason)
        switch answer.result {
        case .verdict(.accepted): return ended(.accepted, reason)
        case .verdict(.rejectMessage): return ended(.rejected, reason)
        case .verdict(.retireAddress(let since, let isSuspicious)):
            if isSuspicious, let suspicion = terms.suspicion { return doubted(key, reason, suspicion) }
            if !terms.holdsAddresses {
                retirements.append(
                    Settlement.Retirement(
                        key: key, revision: page.revisions[index], notAfter: since ?? page.readAt, reason: reason))
            }
            return ended(.retired, reason)
        case .verdict(.holdAddress(let after)): return deferred(key, .address(after: after), reason)
        case .verdict(.retry(let after)): return deferred(key, .provider(after: after), reason)
        case .lost where terms.lostAnswer == .drop: return ended(.rejected, Reason.lostAnswer)
        case .lost: return deferred(key, .lost, Reason.lostAnswer(reason))
        case .held(let after): return deferred(key, .peer(after: after), reason)
        case .unsent, .verdict(.reconnect), .verdict(.refreshCredential), .verdict(.holdApp), .verdict(.stopApp):
            return untried(key, reason, readyAt: terms.readyAt)
        }
    }

    /// Keeps an address that was reported as dead, and tries it again later.
    private mutating func doubted(_ key: DeviceKey, _ reason: String, _ suspicion: Suspicion) -> DeliveryLog.Ending {
        if terms.life.isOneAttempt || terms.life.isOver(at: suspicion.until) {
            return DeliveryLog.Ending(.expired, reason: reason, attempt: terms.attempt + 1)
        }
        if suspicion.attempt >= Limits.attemptsMax {
            return DeliveryLog.Ending(.rejected, reason: Reason.gaveUp, attempt: terms.attempt + 1)
        }
        put(key, suspicion.attempt, at: suspicion.until)
        return DeliveryLog.Ending(.moved, reason: Reason.retirementDoubted, attempt: terms.attempt + 1)
    }

    /// The final outcome of a device. Peal's own refusals are no attempts.
    private func ended(_ outcome: Outcome, _ reason: String) -> DeliveryLog.Ending {
        let attempt = terms.attempt + (Reason.ownRefusals.contains(reason) ? 0 : 1)
        return DeliveryLog.Ending(outcome, reason: reason, attempt: attempt)
    }

    /// No request was made for the device: the attempt does not count.
    private mutating func untried(
        _ key: DeviceKey, _ reason: String, readyAt: Timestamp, isRuled: Bool = false
    ) -> DeliveryLog.Ending {
        untriedCount += 1
        put(key, terms.attempt, at: readyAt, isDoubtful: terms.doubt > 0, isRuled: isRuled)
        return DeliveryLog.Ending(.moved, reason: reason, attempt: terms.attempt)
    }

    /// Retries the device later if its number of attempts and the message's lifetime allow it.
    private mutating func deferred(
        _ key: DeviceKey, _ wait: BackOff.Wait, _ reason: String
    ) -> DeliveryLog.Ending {
        let isTried = if case .peer = wait { false } else { true }
        let attempt = terms.attempt + (isTried ? 1 : 0)
        let delay = delays[wait] ?? BackOff.delay(wait, attempt: attempt, chance: chance)
        delays[wait] = delay
        var readyAt = terms.now + delay
        if wait == .lost, attempt == 1, terms.life.isOver(at: readyAt) { readyAt = soon(before: readyAt) }
        if terms.life.isOneAttempt || terms.life.isOver(at: readyAt) {
            return DeliveryLog.Ending(.expired, reason: wait == .lost ? Reason.lostAnswer : reason, attempt: attempt)
        }
        if isTried, isLast(attempt, wait) {
            return DeliveryLog.Ending(.rejected, reason: Reason.gaveUp, attempt: attempt)
        }
        retryCount += 1
        if !isTried { untriedCount += 1 }
        put(key, attempt, at: readyAt, isDoubtful: wait == .lost || !isTried && terms.doubt > 0)
        return DeliveryLog.Ending(.moved, reason: reason, attempt: attempt)
    }

    /// Whether the device is given up after this attempt. A message whose answers keep getting lost may have arrived
    /// each time, so it is repeated less often than one that was refused.
    private func isLast(_ attempt: Int, _ wait: BackOff.Wait) -> Bool {
        if wait == .lost, terms.doubt > 0, attempt >= Limits.lostAttemptsMax { return true }
        return attempt >= Limits.attemptsMax
    }

    /// A lost answer gets a second attempt, however short the message's remaining lifetime is.
    private func soon(before readyAt: Timestamp) -> Timestamp {
        let left = terms.life.end - terms.now
        return left > .zero ? terms.now + left / 2 : readyAt
    }

    private mutating func put(
        _ key: DeviceKey, _ attempt: Int, at readyAt: Timestamp, isLeased: Bool = false, isDoubtful: Bool = false,
        isRuled: Bool = false
    ) {
        let kind = Settlement.Deferral(
            part: 0, keys: [], attempt: attempt, readyAt: readyAt,
            leasedUntil: isLeased ? terms.stragglersLeasedUntil : nil, isDoubtful: isDoubtful,
            ruledAt: isRuled ? readAt : nil)
        let index = deferralOf[kind] ?? deferrals.count
        if index == deferrals.count {
            deferralOf[kind] = index
            deferrals.append(kind)
        }
        deferrals[index].keys.append(key)
    }

    private mutating func number(of ending: DeliveryLog.Ending) -> UInt16 {
        if let number = endingNumbers[ending] { return number }
        let number = UInt16(truncatingIfNeeded: endings.count)
        endings.append(ending)
        endingNumbers[ending] = number
        return number
    }
}

extension Conclusion {
    /// The settlements that write this conclusion, in order: more than one if the log needs several rows.
    /// - Parameters:
    ///   - slice: As stored; its counts and cursor are continued.
    ///   - pending: Devices of the slice about which nothing is known yet.
    ///   - keep: What happens to the slice between two rows.
    func settlements(
        of slice: Slice, owner: String, pending: Int, sentAt: Timestamp, next: Settlement.Next,
        keep: Settlement.Next, part: () -> Int64
    ) -> [Settlement] {
        var slice = slice
        var settlements: [Settlement] = []
        let took = max(0, (terms.now - sentAt).milliseconds)
        for (range, row) in log.rows(sentAt: sentAt, tookMilliseconds: took) {
            let added = log.counts(range)
            slice.counts.add(added)
            slice.counts.pending = pending + log.count - range.upperBound
            let after = range.upperBound == log.count ? cursorAfter ?? slice.cursor : row.lastKey
            var settlement = Settlement(of: slice, by: owner, to: after, logRow: row, next: keep)
            if slice.id.isMoment { settlement.alerts = range.map(log.entry) } else { settlement.added = added }
            settlements.append(settlement)
            slice.cursor = after
        }
        if settlements.isEmpty {
            slice.counts.pending = pending
            settlements = [Settlement(of: slice, by: owner, to: cursorAfter, next: next)]
        }
        let last = settlements.count - 1
        settlements[last].counts.resent += resentCount
        settlements[last].doubt = max(0, slice.doubt - log.count)
        settlements[last].next = next
        settlements[last].isOfOnlySlice = slice.isOnly
        settlements[last].retirements = retirements
        settlements[last].moves = moves
        settlements[last].deferrals = deferrals.map { deferral in
            var deferral = deferral
            deferral.part = part()
            return deferral
        }
        return settlements
    }
}
