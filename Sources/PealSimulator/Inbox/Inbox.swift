import Foundation
import Synchronization

/// Counts what the networks accept and refuse, and keeps the latest notifications for reading.
package final class Inbox: Sendable {
    private struct State {
        var ledger = Ledger()
        var items: [InboxItem] = []
        /// Removed items that are still at the start of `items`; they are dropped when they outnumber the rest.
        var gone = 0
        var bytes = 0
        var sequence = 0
        var recent = RecentRing()
    }

    private let state = Mutex(State())
    private let mode: SimulatorMode

    /// An empty inbox. `mode` determines how much it keeps.
    package init(mode: SimulatorMode) {
        self.mode = mode
    }

    /// Keeps and counts one notification.
    func accept(_ item: InboxItem) {
        let device = Fingerprint.of(item.device, isFoldingCase: item.provider.network.ignoresDeviceCase)
        let id = Fingerprint.of(item.id)
        state.withLock { state in
            state.ledger.accept(device: device, id: id, provider: item.provider, isExact: mode == .strict)
            if let warning = item.warning { state.ledger.warn(warning, provider: item.provider) }
            guard mode == .strict else { return state.recent.keep(item) }
            state.sequence += 1
            var item = item
            item.sequence = state.sequence
            state.bytes += item.bytes
            state.items.append(item)
            Self.trim(&state)
        }
    }

    /// Counts everything from one read of a connection in fast mode under one lock.
    func count(_ body: (inout Ledger, inout RecentRing) -> Void) {
        state.withLock { state in body(&state.ledger, &state.recent) }
    }

    /// Counts a refused request.
    func refuse(_ reason: String, provider: PushProvider) {
        state.withLock { $0.ledger.refuse(reason, provider: provider) }
    }

    /// Counts a request that a fault leaves unanswered.
    func disturb(_ kind: String, provider: PushProvider) {
        state.withLock { $0.ledger.disturb(kind, provider: provider) }
    }

    /// Removes everything, and resets the counters.
    package func clear() {
        state.withLock { state in
            let sequence = state.sequence
            state = State()
            state.sequence = sequence
        }
    }

    /// The counters as JSON.
    package func summaryJSON() -> String {
        // Inside the lock: with a copy of the ledger, the next request would copy the whole dictionary.
        state.withLock { $0.ledger.json(mode: mode) }
    }

    /// The oldest `limit` items after number `after` that pass `filter`, as JSON.
    package func itemsJSON(_ filter: InboxFilter = InboxFilter(), after: Int, limit: Int) -> String {
        // Outside the lock: searching payloads takes time.
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

    /// How many of `items` have a number up to `after`. The numbers have no gaps.
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

/// A notification that a device received.
struct InboxItem: Sendable {
    /// Increases by one with every item; see `after` of `GET /inbox`.
    var sequence: Int = 0
    /// When it was received, in milliseconds since 1970.
    let at: Int64
    let provider: PushProvider
    var environment = PushEnvironment.production
    /// The device token in lower case, registration token, channel URI or endpoint; the channel's id for a broadcast.
    let device: String
    /// The notification's id, as in the answer: `apns-id`, FCM's name, the message id of WNS and MPNS, the location of
    /// Web Push.
    let id: String
    /// The request's headers as a JSON object, without the provider token.
    let headersJSON: String
    /// JSON text, or in the fast mode possibly anything.
    let payload: [UInt8]
    /// Whether it went to a broadcast channel.
    var isBroadcast = false
    /// A part of the request that the real network may refuse. The simulator accepts it, because no document settles
    /// it.
    var warning: String?

    /// The size that counts towards `SimulatorLimits.inboxBytesMax`.
    var bytes: Int { device.utf8.count + headersJSON.utf8.count + payload.count + 160 }

    /// The item in the answer of `GET /inbox`.
    var json: String {
        var members = [
            ("seq", String(sequence)), ("at", String(at)), ("provider", JSONText.quoted(provider.rawValue)),
            ("environment", JSONText.quoted(environment.rawValue)), ("device", JSONText.quoted(device)),
            ("id", JSONText.quoted(id)),
        ]
        if let name = provider.network.idMember { members.append((name, JSONText.quoted(id))) }
        if isBroadcast { members.append(("channel", "true")) }
        if let warning { members.append(("warning", JSONText.quoted(warning))) }
        members += [("headers", headersJSON), ("payload", String(decoding: payload, as: UTF8.self))]
        return JSONText.object(members)
    }

    /// `headers` as a JSON object, without tokens, which are secret.
    static func headersJSON(_ headers: [(name: String, value: String)]) -> String {
        JSONText.object(
            headers.filter { $0.name != "authorization" }.map { ($0.name, JSONText.quoted($0.value)) })
    }
}

/// Selects items of the inbox.
package struct InboxFilter: Sendable {
    /// A `DeviceName.key`; nil for all devices. The other members are optional in the same way.
    package var device: String?
    package var provider: PushProvider?
    package var environment: PushEnvironment?
    /// Only items received at this time or later, in milliseconds since 1970.
    package var sinceMilliseconds: Int64?
    /// A part of any string in the payload.
    package var contained: String?

    /// A filter that selects everything.
    package init() {}

    /// Whether `item` is selected.
    func admits(_ item: InboxItem) -> Bool {
        if let device, DeviceName.key(item.device) != device { return false }
        if let provider, item.provider != provider { return false }
        if let environment, item.environment != environment { return false }
        if let sinceMilliseconds, item.at < sinceMilliseconds { return false }
        guard let contained else { return true }
        guard let payload = JSONValue(bytes: item.payload) else {
            return String(decoding: item.payload, as: UTF8.self).contains(contained)
        }
        return payload.containsText(contained)
    }
}

/// Turns payloads of any kind into JSON for the inbox.
enum PayloadJSON {
    /// JSON unchanged, other text as `{"text": …}`, and other bytes as `{"base64": …}`.
    static func of(_ bytes: [UInt8]) -> [UInt8] {
        JSONValue(bytes: bytes) == nil ? ofText(bytes) : bytes
    }

    /// Text, even JSON, as `{"text": …}`, and other bytes as `{"base64": …}`.
    static func ofText(_ bytes: [UInt8]) -> [UInt8] {
        let member =
            if let text = String(validating: bytes, as: UTF8.self) {
                ("text", JSONText.quoted(text))
            } else {
                ("base64", JSONText.quoted(Data(bytes).base64EncodedString()))
            }
        return Array(JSONText.object([member]).utf8)
    }
}
