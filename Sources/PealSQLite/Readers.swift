internal import DequeModule
internal import Foundation
internal import GRDB
internal import PealCore
internal import PealStore
internal import Synchronization

/// The connections for reads. Each lane has its own, so no lane waits for another.
final class Readers: Sendable {
    private struct Lane {
        var free: [Reader]
        var waiters: Deque<CheckedContinuation<Reader, Never>> = []

        /// The waiter that gets the reader; if there is none, the reader is free.
        mutating func next(_ reader: Reader) -> CheckedContinuation<Reader, Never>? {
            if let waiter = waiters.popFirst() { return waiter }
            free.append(reader)
            return nil
        }
    }

    /// A heavy read keeps a processor busy until it ends, so these use at most half of the processors.
    static func count(_ lane: ReadLane, processors: Int = ProcessInfo.processInfo.activeProcessorCount) -> Int {
        switch lane {
        case .brief: 2
        case .delivery: 4
        case .request: 4
        case .heavy: min(4, max(1, processors / 2))
        }
    }

    private let readers: [Reader]
    private let lanes: Mutex<[ReadLane: Lane]>

    /// - Parameter configuration: the configuration of the writer's connection.
    /// - Throws: when the file cannot be opened.
    init(path: String, _ configuration: Configuration) throws {
        var configuration = configuration
        configuration.readonly = true
        var lanes: [ReadLane: Lane] = [:]
        for lane in ReadLane.allCases {
            let free = try (0..<Self.count(lane)).map { [configuration] _ in
                try Reader(path: path, configuration)
            }
            lanes[lane] = Lane(free: free)
        }
        readers = lanes.values.flatMap(\.free)
        self.lanes = Mutex(lanes)
    }

    /// Runs `body` on one consistent state of the database, in order of arrival in its lane.
    /// - Throws: what `body` throws; `unavailable` when the database failed or is closed.
    func read<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R {
        let reader = await enter(lane)
        defer { leave(lane, reader) }
        return try await reader.read(body)
    }

    /// Finishes running reads and closes the connections. Later reads fail.
    func close() throws {
        for reader in readers { try reader.close() }
    }

    /// Waits for a reader of the lane. `leave` must follow.
    private func enter(_ lane: ReadLane) async -> Reader {
        if let free = lanes.withLock({ $0[lane]?.free.popLast() }) { return free }
        return await withCheckedContinuation { continuation in
            let free = lanes.withLock { lanes -> Reader? in
                if let free = lanes[lane]?.free.popLast() { return free }
                lanes[lane]?.waiters.append(continuation)
                return nil
            }
            if let free { continuation.resume(returning: free) }
        }
    }

    private func leave(_ lane: ReadLane, _ reader: Reader) {
        lanes.withLock { $0[lane]?.next(reader) }?.resume(returning: reader)
    }
}

/// One connection for reads.
private final class Reader: Sendable {
    private let queue: DatabaseQueue
    /// Used only on the queue.
    nonisolated(unsafe) private var connection: SQLiteConnection?

    init(path: String, _ configuration: Configuration) throws {
        queue = try DatabaseQueue(path: path, configuration: configuration)
    }

    func read<R: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            queue.asyncUnsafeRead { [self] access in
                continuation.resume(
                    with: Result { try snapshot(access.get(), body) }.mapError(SQLiteFailure.refusal))
            }
        }
    }

    /// Runs `body` in a read transaction.
    private func snapshot<R>(_ database: Database, _ body: (any SQLConnection) throws -> R) throws -> R {
        guard database.sqliteConnection != nil else { throw SQLiteFailure.unavailable }
        let connection = connection ?? SQLiteConnection(database)
        self.connection = connection
        _ = try connection.execute("BEGIN", [])
        // Ending a transaction that wrote nothing cannot lose anything.
        defer { _ = try? connection.execute("ROLLBACK", []) }
        return try body(connection)
    }

    func close() throws {
        queue.unsafeRead { [self] _ in
            connection?.finish()
            connection = nil
        }
        try queue.close()
    }
}
