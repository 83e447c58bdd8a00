internal import PealCore
internal import PealStore
internal import Synchronization

/// Issues numbers of series from blocks that are taken in separate transactions, so that a transaction that uses a
/// number does not lock the series' row until it commits. A process that ends loses what is left of its blocks. So does
/// one that loses a connection: a database that crashed, or its standby, may not know that the block was taken.
final class PostgresNumbers: Sendable {
    private struct State {
        var connection: Box?
        var blocks: [String: ClosedRange<Int64>] = [:]
        /// Numbers of transactions that were undone.
        var spare: [String: [Int64]] = [:]
        /// How many connections had been lost when the oldest of them was taken.
        var losses = 0

        mutating func forget() { (blocks, spare) = ([:], [:]) }
    }

    /// Allows the connection to be stored in the mutex.
    private final class Box: @unchecked Sendable {
        // Only used while the mutex is locked.
        let connection: PostgresConnection

        init(_ connection: PostgresConnection) { self.connection = connection }
    }

    /// Every app has two series.
    private static let blocksMax = 20_000

    private let settings: PostgresSettings
    private let state = Mutex(State())
    /// How many connections to the database this process has lost.
    private let losses = Atomic(0)

    init(_ settings: PostgresSettings) { self.settings = settings }

    /// nil when it can be taken only inside the transaction, for example for an app that the transaction creates.
    func next(in series: NumberSeries) throws -> Int64? {
        try state.withLock { state in
            let count = losses.load(ordering: .acquiring)
            if state.losses != count {
                state.forget()
                state.losses = count
            }
            if let number = Self.take(series.name, &state) { return number }
            let box = try state.connection ?? Box(PostgresConnection(settings, numbers: nil))
            state.connection = box
            do {
                guard let last = try Self.raise(series, box.connection) else { return nil }
                // Drops what is left of the blocks, including those of deleted apps.
                if state.blocks.count >= Self.blocksMax { state.forget() }
                state.blocks[series.name] = (last - series.blockSize + 1)...last
            } catch let unknown as PostgresConnection.CommitUnknown {
                // The block may be lost, but it cannot be issued twice.
                state.connection = nil
                state.forget()
                throw unknown.failure
            } catch let failure as PostgresFailure {
                box.connection.rollback()
                // Answers that were not awaited would be read as those of the next statements.
                if failure.remedy == .reconnect || box.connection.isLost {
                    state.connection = nil
                    state.forget()
                }
                // The row is locked, perhaps by the transaction that waits for this number.
                if failure.remedy == .retry { return nil }
                throw failure
            }
            return Self.take(series.name, &state)
        }
    }

    /// Takes back the numbers of a transaction that was undone, of series in which nothing depends on the order.
    /// Without this, batches that conflict and are repeated would leave large gaps between the keys of devices.
    func giveBack(_ numbers: [(series: String, number: Int64)]) {
        guard !numbers.isEmpty else { return }
        state.withLock { state in
            for (series, number) in numbers.reversed() { state.spare[series, default: []].append(number) }
        }
    }

    /// Records that a connection to the database was lost, after which the numbers that are left are not used: they
    /// were taken without waiting for the disk or a standby, so they may be issued again. Never waits.
    func noteLoss() { losses.add(1, ordering: .releasing) }

    private static func take(_ name: String, _ state: inout State) -> Int64? {
        if let number = state.spare[name]?.popLast() {
            if state.spare[name]?.isEmpty == true { state.spare[name] = nil }
            return number
        }
        guard let block = state.blocks[name] else { return nil }
        state.blocks[name] = block.lowerBound < block.upperBound ? block.lowerBound + 1...block.upperBound : nil
        return block.lowerBound
    }

    /// The last number of the new block. It need not be flushed to disk separately: the commit that uses a number
    /// flushes it too.
    private static func raise(_ series: NumberSeries, _ connection: PostgresConnection) throws -> Int64? {
        connection.begin(.plain)
        _ = try connection.execute("SET LOCAL lock_timeout = 100", [])
        _ = try connection.execute("SET LOCAL synchronous_commit = off", [])
        let last: Int64? = try connection.value(series.raising(series.blockSize))
        try connection.commit()
        return last
    }

    func close() { state.withLock { $0.connection = nil } }
}
