import Foundation
import PealCore
import PealSQLite
import PealStore

/// Runs lifecycles in batches: everything that reaches the server in one step of a batch is one transaction, and if it
/// fails, everything from that step is lost.
package struct LifecycleRun: Sendable {
    private let count: Int
    private let seed: UInt64
    private let directory: String?

    private static let batchSize = 200
    /// How many lifecycles share a database, so that it stays small.
    private static let perStore = 10_000

    package init(count: Int, seed: UInt64, directory: String? = nil) {
        self.count = count
        self.seed = seed
        self.directory = directory
    }

    /// - Parameter progress: receives the number of lifecycles so far.
    package func run(_ progress: (Int) -> Void = { _ in }) async throws -> LifecycleTotals {
        var totals = LifecycleTotals()
        var number: UInt64 = 0
        while totals.count < count {
            let size = min(Self.perStore, count - totals.count)
            try await withStore { store, app in
                var done = 0
                while done < size {
                    number += 1
                    var batch = LifecycleBatch(
                        store: store, app: app, count: min(Self.batchSize, size - done),
                        seed: seed &* 0x9E37_79B9 &+ number)
                    try await batch.run()
                    totals.add(batch.totals)
                    done += min(Self.batchSize, size - done)
                    progress(totals.count)
                }
            }
        }
        return totals
    }

    private func withStore(_ body: (SQLStore, AppKey) async throws -> Void) async throws {
        let parent = directory.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
        let folder = parent.appendingPathComponent("peal-lifecycles-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("peal.db").path
        // The key comes first: a database without its key counts as damaged.
        let masterKey = try MasterKey.loadOrCreate(besideDatabase: path)
        let store = SQLStore(engine: try SQLiteEngine(path: path), masterKey: masterKey)
        try await store.migrate()
        let app = App(id: AppID(high: 1, low: 1), key: 0, name: "Lab", createdAt: LifecycleBatch.start)
        let key = try await store.write(.control) { try $0.insertApp(app).key }
        try await body(store, key)
    }
}

/// Lifecycles that run together.
struct LifecycleBatch {
    static let start = Timestamp(seconds: 1_795_219_200)
    private static let windowSeconds: Int64 = 3600
    private static let stepsInWindow = 12
    private static let stepsAfter = 14

    private let store: SQLStore
    private let app: AppKey
    private var dice: Dice
    private var lives: [Lifecycle] = []
    private let count: Int
    private var now = start
    private(set) var totals = LifecycleTotals()

    init(store: SQLStore, app: AppKey, count: Int, seed: UInt64) {
        self.store = store
        self.app = app
        self.count = count
        dice = Dice(seed: seed)
    }

    mutating func run() async throws {
        try await begin()
        for step in 0..<(Self.stepsInWindow + Self.stepsAfter) {
            now = now + .seconds(Self.windowSeconds / Int64(Self.stepsInWindow))
            try await pass(step, isCalm: false)
        }
        // Ends everything: the phones send their last events, and unconfirmed claims are abandoned.
        for step in 0..<4 {
            now = now + .seconds(9 * 3600)
            try await pass(Self.stepsInWindow + Self.stepsAfter + step, isCalm: true)
        }
        try await judge()
    }

    private mutating func begin() async throws {
        let (app, now, count, first) = (app, now, count, dice)
        (lives, dice) = try await store.write(.intake) { store in
            var dice = first
            let lives = try (0..<count).map { _ in try Self.life(in: store, app: app, now: now, &dice) }
            return (lives, dice)
        }
    }

    private static func life(
        in store: any StoreWriting, app: AppKey, now: Timestamp, _ dice: inout Dice
    ) throws -> Lifecycle {
        let id: MessageID = dice.id()
        let user = "user \(id)"
        var phones: [LifecyclePhone] = []
        for _ in 0..<(dice.happens(0.4) ? 2 : 1) {
            let registration = Self.registration(dice.id(), user: user)
            let device = try store.register(registration, app: app, now: now).device
            phones.append(
                LifecyclePhone(
                    device: device.key, hasLedger: dice.happens(0.6), skew: Int64(dice.next(below: 121)) - 60))
        }
        try store.insertMessage(draft(id, user: user, app: app, now: now, until: now + .seconds(windowSeconds)))
        return Lifecycle(message: id, user: user, phones: phones)
    }

    private static func registration(_ id: DeviceID, user: String) -> DeviceRegistration {
        DeviceRegistration(
            id: id, address: Address(route: .apnsProduction, bytes: id.bytes + id.bytes), userID: user)
    }

    private static func draft(
        _ id: MessageID, user: String, app: AppKey, now: Timestamp, until: Timestamp
    ) -> MessageDraft {
        var audience = Audience()
        audience.users = [user]
        var content = Content()
        content.title = .plain("Title")
        var draft = MessageDraft(
            id: id, app: app, dialect: "native", audience: audience, content: content, createdAt: now,
            expiresAt: until + .seconds(86_400))
        draft.window = DeliveryWindow(until: until, method: .contextAware)
        return draft
    }

    /// One step of all lifecycles: packets arrive, phones wake, authors act, the server works.
    private mutating func pass(_ step: Int, isCalm: Bool) async throws {
        let fails = !isCalm && dice.happens(0.05)
        let (app, now, before) = (app, now, lives)
        var dice = dice
        let seed = dice.next()
        self.dice = dice
        do {
            lives = try await store.write(.intake) { store in
                var dice = Dice(seed: seed)
                var server = LifecycleServer(store: store, app: app, now: now)
                var lives = before
                for index in lives.indices {
                    try server.pass(&lives[index], step: step, isCalm: isCalm, &dice)
                }
                try server.work(&lives, step: step, &dice)
                if fails { throw Crash() }
                return lives
            }
        } catch is Crash {
            // Everything that arrived in this step is lost, on both sides.
            for index in lives.indices {
                lives[index].packets.removeAll { $0.step <= step }
                lives[index].note("server crashes")
            }
        }
    }

    private struct Crash: Error {}

    private mutating func judge() async throws {
        let app = app
        for life in lives {
            let state = try await store.read { try $0.moments(app: app, message: life.message).first?.state }
            var own = life.totals
            own.count = 1
            if state?.isUnfinished ?? true { own.unfinished += 1 }
            let isExcused = life.isCancelled || life.hasLateCancel || life.phones.contains { !$0.isTheirs }
            if !life.isAttempted, !isExcused { own.unattempted += 1 }
            own.seen["ended as \(state?.name ?? "nothing")", default: 0] += 1
            totals.add(own)
        }
    }
}
