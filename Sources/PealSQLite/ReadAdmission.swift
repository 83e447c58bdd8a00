internal import Foundation
internal import PealCore
internal import Synchronization

/// Admits reads to the connections of the pool, each lane to a number of its own. Together they are as many as there
/// are connections, so an admitted read finds one free, and no lane waits for another.
final class ReadAdmission: Sendable {
    private struct Lane {
        var free: Int
        var waiters: [CheckedContinuation<Void, Never>] = []
        /// Waiters before this index were woken.
        var first = 0

        /// The waiter that gets the connection; without one it is free.
        mutating func next() -> CheckedContinuation<Void, Never>? {
            guard first < waiters.count else {
                free += 1
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

    /// Heavy reads keep a processor busy for their whole life, so at least half of the processors remain for others.
    static func count(_ lane: ReadLane, processors: Int = ProcessInfo.processInfo.activeProcessorCount) -> Int {
        switch lane {
        case .delivery: 4
        case .request: 4
        case .heavy: min(4, max(1, processors / 2))
        }
    }

    static let readersMax = ReadLane.allCases.reduce(0) { $0 + count($1) }

    private let lanes: Mutex<[ReadLane: Lane]>

    init() {
        lanes = Mutex(Dictionary(uniqueKeysWithValues: ReadLane.allCases.map { ($0, Lane(free: Self.count($0))) }))
    }

    /// Waits for a connection of the lane, in order of arrival. `leave` must follow.
    func enter(_ lane: ReadLane) async {
        await withCheckedContinuation { continuation in
            let isFree = lanes.withLock { lanes in
                guard let free = lanes[lane]?.free, free > 0 else {
                    lanes[lane]?.waiters.append(continuation)
                    return false
                }
                lanes[lane]?.free = free - 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    func leave(_ lane: ReadLane) {
        lanes.withLock { lanes -> CheckedContinuation<Void, Never>? in lanes[lane]?.next() }?.resume()
    }
}
