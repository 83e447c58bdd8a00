import Synchronization

/// Takes what the networks accepted and refused, counts all of it and keeps the latest notifications to be read back.
package final class Inbox: Sendable {
    private struct State {
        var ledger = Ledger()
        var items: [InboxItem] = []
        /// Items at the start of `items` that have left; they are removed when they outnumber the rest.
        var gone = 0
        var bytes = 0
        var sequence = 0
        var recent = RecentRing()
    }

    private let state = Mutex(State())
    private let mode: SimulatorMode

    /// An empty inbox; `mode` says how much it keeps.
    package init(mode: SimulatorMode) {
        self.mode = mode
    }

    /// Keeps and counts one notification.
    func accept(_ item: InboxItem) {
        let device = Fingerprint.of(item.device, isFoldingCase: item.provider == .apns)
        let id = Fingerprint.of(item.id)
        state.withLock { state in
            state.ledger.accept(device: device, id: id, provider: item.provider, isExact: mode == .strict)
            guard mode == .strict else { return state.recent.keep(item) }
            state.sequence += 1
            var item = item
            item.sequence = state.sequence
            state.bytes += item.bytes
            state.items.append(item)
            Self.trim(&state)
        }
    }

    /// Counts a whole read's worth of the fast mode under one lock.
    func count(_ body: (inout Ledger, inout RecentRing) -> Void) {
        state.withLock { state in body(&state.ledger, &state.recent) }
    }

    /// Counts a refused request.
    func refuse(_ reason: String, provider: PushProvider = .apns) {
        state.withLock { $0.ledger.refuse(reason, provider: provider) }
    }

    /// Counts a request that a fault left unanswered.
    func disturb(_ kind: String, provider: PushProvider = .apns) {
        state.withLock { $0.ledger.disturb(kind, provider: provider) }
    }

    /// Forgets everything, counters too.
    package func clear() {
        state.withLock { state in
            let sequence = state.sequence
            state = State()
            state.sequence = sequence
        }
    }

    /// The counters as JSON.
    package func summaryJSON() -> String {
        // Written under the lock: a copy of the ledger would make the next request copy its whole dictionary.
        state.withLock { $0.ledger.json(mode: mode) }
    }

    /// The oldest `limit` items that `filter` admits and that came after the one numbered `after`, as JSON.
    package func itemsJSON(_ filter: InboxFilter = InboxFilter(), after: Int, limit: Int) -> String {
        // Filtered outside the lock: looking into payloads takes its time.
        let items = state.withLock { state in
            switch mode {
            case .strict: state.items[state.gone...]
            case .fast: state.recent.items()[...]
            }
        }
        let texts = items.dropFirst(Self.position(after, in: items)).lazy.filter(filter.admits).prefix(limit)
            .map(\.json)
        let list = Array(texts)
        return JSONText.object([("items", "[" + list.joined(separator: ",") + "]"), ("count", String(list.count))])
    }

    /// How many of `items` are numbered `after` or lower; the numbers have no gaps.
    private static func position(_ after: Int, in items: ArraySlice<InboxItem>) -> Int {
        guard let first = items.first?.sequence, after >= first else { return 0 }
        return min(items.count, after - first + 1)
    }

    private static func trim(_ state: inout State) {
        while state.items.count - state.gone > SimulatorLimits.inboxItemsMax
            || state.bytes > SimulatorLimits.inboxBytesMax
        {
            state.bytes -= state.items[state.gone].bytes
            state.gone += 1
        }
        if state.gone > max(1_024, state.items.count / 2) {
            state.items.removeFirst(state.gone)
            state.gone = 0
        }
    }
}
