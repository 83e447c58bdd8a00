import Foundation
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
        let device = Fingerprint.of(item.device)
        let apnsID = Fingerprint.of(item.apnsID)
        state.withLock { state in
            state.ledger.accept(device: device, apnsID: apnsID, isExact: true)
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
    func refuse(_ reason: String) {
        state.withLock { $0.ledger.refuse(reason) }
    }

    /// Counts a request that a fault left unanswered.
    func disturb(_ kind: String) {
        state.withLock { $0.ledger.disturb(kind) }
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

    /// The oldest `limit` items of `device` (nil: all) that came after the one numbered `after`, as JSON.
    package func itemsJSON(device: String?, after: Int, limit: Int) -> String {
        let items = state.withLock { state in
            switch mode {
            case .strict: Self.page(state.items[state.gone...], device, after, limit)
            case .fast: Self.page(state.recent.items()[...], device, after, limit)
            }
        }
        let texts = items.map { $0.json(isPayloadJSON: mode == .strict || Self.isJSON($0.payload)) }
        return JSONText.object([
            ("items", "[" + texts.joined(separator: ",") + "]"), ("count", String(texts.count)),
        ])
    }

    private static func page(
        _ items: ArraySlice<InboxItem>, _ device: String?, _ after: Int, _ limit: Int
    ) -> [InboxItem] {
        var page: [InboxItem] = []
        for item in items.dropFirst(position(after, in: items)) where device == nil || item.device == device {
            guard page.count < limit else { break }
            page.append(item)
        }
        return page
    }

    /// How many of `items` are numbered `after` or lower; the numbers have no gaps.
    private static func position(_ after: Int, in items: ArraySlice<InboxItem>) -> Int {
        guard let first = items.first?.sequence, after >= first else { return 0 }
        return min(items.count, after - first + 1)
    }

    private static func isJSON(_ payload: [UInt8]) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(payload))) != nil
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
