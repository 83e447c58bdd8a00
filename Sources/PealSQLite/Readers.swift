internal import Foundation
internal import GRDB
internal import PealCore
internal import PealStore
internal import Synchronization

/// The connections for reads. Each lane has its own connections, so no lane waits for another. Each connection has its
/// own dispatch queue.
final class Readers: Sendable {
    private struct Lane {
        var free: [DatabaseQueue]
        var waiters: [CheckedContinuation<DatabaseQueue, Never>] = []
        /// Waiters before this index were woken.
        var first = 0

        /// The waiter that gets the connection; if there is none, the connection is free.
        mutating func next(_ connection: DatabaseQueue) -> CheckedContinuation<DatabaseQueue, Never>? {
            guard first < waiters.count else {
                free.append(connection)
                (waiters, first) = ([], 0)
                return nil
            }
            let waiter = waiters[first]
            first += 1
            if first > 1024 {
                waiters.removeFirst(first)
                first = 0
            }
            return waiter
        }
    }

    /// A heavy read keeps a processor busy until it ends, so these use at most half of the processors.
    static func count(_ lane: ReadLane, processors: Int = ProcessInfo.processInfo.activeProcessorCount) -> Int {
        switch lane {
        case .delivery: 4
        case .request: 4
        case .heavy: min(4, max(1, processors / 2))
        }
    }

    private let connections: [DatabaseQueue]
    private let lanes: Mutex<[ReadLane: Lane]>

    /// - Parameter configuration: the configuration of the writer's connection.
    /// - Throws: when the file cannot be opened.
    init(path: String, _ configuration: Configuration) throws {
        var configuration = configuration
        configuration.readonly = true
        var lanes: [ReadLane: Lane] = [:]
        for lane in ReadLane.allCases {
            let free = try (0..<Self.count(lane)).map { [configuration] _ in
                try DatabaseQueue(path: path, configuration: configuration)
            }
            lanes[lane] = Lane(free: free)
        }
        connections = lanes.values.flatMap(\.free)
        self.lanes = Mutex(lanes)
    }

    /// Runs `body` on one consistent state of the database, in order of arrival in its lane.
    /// - Throws: what `body` throws; `unavailable` when the database failed or is closed.
    func read<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R {
        let connection = await enter(lane)
        defer { leave(lane, connection) }
        return try await withCheckedThrowingContinuation { continuation in
            connection.asyncUnsafeRead { access in
                continuation.resume(
                    with: Result { try Self.snapshot(access.get(), body) }.mapError(SQLiteFailure.refusal))
            }
        }
    }

    /// Finishes running reads and closes the connections. Later reads fail.
    func close() throws {
        for connection in connections { try connection.close() }
    }

    /// Runs `body` in a read transaction.
    private static func snapshot<R>(_ database: Database, _ body: (any SQLConnection) throws -> R) throws -> R {
        guard database.sqliteConnection != nil else { throw SQLiteFailure.unavailable }
        let connection = SQLiteConnection(database)
        _ = try connection.execute("BEGIN", [])
        // Ending a transaction that wrote nothing cannot lose anything.
        defer { _ = try? connection.execute("ROLLBACK", []) }
        return try body(connection)
    }

    /// Waits for a connection of the lane. `leave` must follow.
    private func enter(_ lane: ReadLane) async -> DatabaseQueue {
        await withCheckedContinuation { continuation in
            let free = lanes.withLock { lanes -> DatabaseQueue? in
                if let free = lanes[lane]?.free.popLast() { return free }
                lanes[lane]?.waiters.append(continuation)
                return nil
            }
            if let free { continuation.resume(returning: free) }
        }
    }

    private func leave(_ lane: ReadLane, _ connection: DatabaseQueue) {
        lanes.withLock { $0[lane]?.next(connection) }?.resume(returning: connection)
    }
}
