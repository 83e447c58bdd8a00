internal import PealCore
internal import Synchronization

/// Applies the rules of apps and messages: the recipient's time zone, quiet hours and frequency caps.
final class AppGate: PageGate {
    /// How old cached rules may be.
    private static let rulesLife: Duration = .seconds(1)
    private static let rulesCachedMax = 1024
    private static let clocksCachedMax = 4096

    private struct State {
        var rules: [AppKey: (rules: SendRules, readAt: Duration)] = [:]
        /// By number in the store's dictionary; nil for names that are not time zones.
        var clocks: [Int32: WallClock?] = [:]
        var named: [String: WallClock?] = [:]
    }

    private let store: any Store
    private let time: any TimeSource
    private let state = Mutex(State())

    init(store: any Store, time: any TimeSource) {
        self.store = store
        self.time = time
    }

    func rules(of app: AppKey) async throws -> SendRules {
        let now = time.uptime
        let known = state.withLock { $0.rules[app] }
        if let known, now - known.readAt < Self.rulesLife { return known.rules }
        let rules = try await store.read { try $0.app(key: app)?.settings.rules } ?? SendRules()
        state.withLock { state in
            if state.rules.count >= Self.rulesCachedMax { state.rules = [:] }
            state.rules[app] = (rules, now)
        }
        return rules
    }

    func forget() { state.withLock { ($0.rules, $0.clocks) = ([:], [:]) } }

    func needs(of job: DeliveryJob, in slice: Slice.ID) async throws -> GateNeeds {
        guard !slice.isMoment else { return GateNeeds() }
        let rules = try await rules(of: job.message.app)
        let needs = !job.options.isTransactional && rules.quietHours != nil || job.options.recipientsTime != nil
        return GateNeeds(people: needs, sorting: needs || Self.sortedCap(rules, on: job, in: slice) != nil)
    }

    func rates(of job: DeliveryJob, in slice: Slice.ID) async throws -> GateRates {
        guard !slice.isMoment else { return GateRates() }
        return Self.rates(try await rules(of: job.message.app), job)
    }

    private static func rates(_ rules: SendRules, _ job: DeliveryJob) -> GateRates {
        GateRates(ofApp: rules.ratePerSecond, ofMessage: job.options.ratePerSecond)
    }

    func rule(
        on page: DevicePage, of job: DeliveryJob, in slice: Slice.ID, isSorting: Bool, at now: Timestamp
    ) async throws -> [PageRuling] {
        guard !slice.isMoment else { return [] }
        let rules = try await rules(of: job.message.app)
        var rulings = try await holds(on: page, of: job, rules, at: now)
        let cap = isSorting ? Self.sortedCap(rules, on: job, in: slice) : Self.cap(rules, on: job, in: slice)
        guard let cap else { return rulings }
        let held = Set(rulings.map(\.index))
        let free = page.keys.indices.filter { !held.contains($0) }
        let (app, message, keys) = (job.message.app, job.message.id, free.map { page.keys[$0] })
        guard !keys.isEmpty else { return rulings }
        let waits =
            isSorting
            ? try await store.read { try $0.waits(keys, app: app, message: message, cap: cap, now: now) }
            : try await store.write(.settle) { try $0.reserve(keys, app: app, message: message, cap: cap, now: now) }
        for (index, key) in zip(free, keys) {
            guard let until = waits[key] else { continue }
            rulings.append(PageRuling(index: index, decision: .hold(.init(until: until, reason: .frequencyCap))))
        }
        return rulings
    }

    func uncount(_ keys: [DeviceKey], of job: DeliveryJob, in slice: Slice.ID) async throws {
        let (app, message) = (job.message.app, job.message.id)
        guard !keys.isEmpty, Self.cap(try await rules(of: app), on: job, in: slice) != nil else { return }
        try await store.write(.settle) { try $0.uncount(keys, app: app, message: message) }
    }

    /// The cap for the devices of a slice; nil for none.
    private static func cap(_ rules: SendRules, on job: DeliveryJob, in slice: Slice.ID) -> FrequencyCap? {
        job.options.isTransactional || slice.holdsAddresses || slice.isMoment ? nil : rules.frequencyCap
    }

    /// The cap that sorting applies: under a rate, so that devices that the cap holds back do not use up the rate.
    private static func sortedCap(_ rules: SendRules, on job: DeliveryJob, in slice: Slice.ID) -> FrequencyCap? {
        rates(rules, job).isLimited ? cap(rules, on: job, in: slice) : nil
    }

    /// The devices for which it is too early, or quiet hours, in their own time.
    private func holds(
        on page: DevicePage, of job: DeliveryJob, _ rules: SendRules, at now: Timestamp
    ) async throws -> [PageRuling] {
        let quiet = job.options.isTransactional ? nil : rules.quietHours
        guard quiet != nil || job.options.recipientsTime != nil else { return [] }
        var byZone: [Int32: PageRuling.Hold?] = [:]
        var rulings: [PageRuling] = []
        for index in page.keys.indices {
            let zone = page.people.isEmpty ? 0 : page.people[index].zone
            if byZone[zone] == nil {
                let clock = try await clock(zone, rules)
                byZone[zone] = .some(Self.hold(clock, job.options.recipientsTime, quiet, at: now))
            }
            if case .some(.some(let hold)) = byZone[zone] {
                rulings.append(PageRuling(index: index, decision: .hold(hold)))
            }
        }
        return rulings
    }

    /// A message that is due during quiet hours also waits for their end.
    private static func hold(
        _ clock: WallClock, _ reading: Timestamp?, _ quiet: QuietHours?, at now: Timestamp
    ) -> PageRuling.Hold? {
        let due = reading.map { max(now, clock.instant(of: $0)) } ?? now
        if let quiet, let end = clock.end(of: quiet, at: due) {
            return PageRuling.Hold(until: end, reason: .quietHours)
        }
        return due > now ? PageRuling.Hold(until: due, reason: .recipientTimeZone) : nil
    }

    private func clock(_ zone: Int32, _ rules: SendRules) async throws -> WallClock {
        if zone != 0, let clock = try await known(zone) { return clock }
        return rules.defaultTimeZone.flatMap(named) ?? .utc
    }

    private func known(_ zone: Int32) async throws -> WallClock? {
        if let known = state.withLock({ $0.clocks[zone] }) { return known }
        let clock = try await store.read { try $0.timeZone(zone) }.flatMap { WallClock($0) }
        state.withLock { state in
            if state.clocks.count >= Self.clocksCachedMax { state.clocks = [:] }
            state.clocks[zone] = .some(clock)
        }
        return clock
    }

    private func named(_ name: String) -> WallClock? {
        if let known = state.withLock({ $0.named[name] }) { return known }
        let clock = WallClock(name)
        state.withLock { state in
            if state.named.count >= Self.rulesCachedMax { state.named = [:] }
            state.named[name] = .some(clock)
        }
        return clock
    }
}
