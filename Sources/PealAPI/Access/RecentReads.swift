internal import PealCore
internal import Synchronization

/// Values that were read from the store less than a second ago, so that a burst of requests reads them once. None is
/// older than the last change by this process; a change by another one is noticed within the second.
final class RecentReads<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry {
        let value: Value
        let until: Duration
        let version: Int
    }

    private let store: any Store
    private let time: any TimeSource
    private let entries = Mutex<[Key: Entry]>([:])

    init(store: any Store, time: any TimeSource) {
        self.store = store
        self.time = time
    }

    /// The value of `key`, from the store if it is not known. Absent values are read every time.
    func value(
        _ key: Key, read: @escaping @Sendable (any StoreReading) throws -> Value?
    ) async throws -> Value? {
        let (uptime, version) = (time.uptime, store.setupVersion)
        if let entry = entries.withLock({ $0[key] }), entry.version == version, entry.until > uptime {
            return entry.value
        }
        guard let value = try await store.read(.brief, read) else { return nil }
        entries.withLock { entries in
            if entries.count >= Limits.recentReadsMax { entries.removeAll() }
            entries[key] = Entry(value: value, until: uptime + .seconds(1), version: version)
        }
        return value
    }
}

/// How a request names its app.
enum AppName: Hashable {
    /// The app of the caller's key.
    case key(AppKey)
    case id(AppID)

    func app(_ store: any StoreReading) throws -> App? {
        switch self {
        case .key(let key): try store.app(key: key)
        case .id(let id): try store.app(id)
        }
    }
}

/// What a request that sends or registers a device reads of its app.
struct SendingApp {
    let app: App
    let facts: SendingFacts

    init?(_ name: AppName, _ store: any StoreReading) throws {
        guard let app = try name.app(store) else { return nil }
        self.app = app
        facts = try SendingFacts(app, store)
    }
}

/// What the store knows about an app that decides how its messages are checked and rendered.
struct SendingFacts: Sendable {
    /// The app's credentials without their secrets.
    let credentials: [CredentialRecord]
    /// Whether payloads name their message for Peal's SDK: true if the app has a key for it.
    let namesMessages: Bool

    init(_ app: App, _ store: any StoreReading) throws {
        credentials = try store.credentialRecords(app: app.key)
        namesMessages = try store.hasKey(app: app.key, dialect: .device)
    }
}
