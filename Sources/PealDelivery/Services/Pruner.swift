internal import Logging
internal import PealCore

/// Deletes rows that have expired, in small pieces with pauses, so that no other write waits behind it.
struct Pruner: Sendable {
    private static let interval: Duration = .seconds(600)
    private static let rowsPerPiece = 1000
    private static let pauseBetweenPieces: Duration = .milliseconds(200)

    private let store: any Store
    private let time: any TimeSource
    private let logger: Logger
    private let stop: StopSwitch

    init(_ context: DeliveryContext) {
        store = context.store
        time = context.time
        logger = context.logger
        stop = context.stop
    }

    /// Runs until the process stops.
    func run() async {
        let sleeper = stop.sleeper()
        while await stop.pause(sleeper, atMost: Self.interval) {
            while await prune() == Self.rowsPerPiece {
                guard await stop.pause(sleeper, atMost: Self.pauseBetweenPieces) else { return }
            }
        }
    }

    private func prune() async -> Int {
        let now = time.now
        do {
            return try await store.write(.rest) { try $0.prune(now: now, limit: Self.rowsPerPiece) }
        } catch {
            logger.error("old rows could not be deleted", metadata: ["error": "\(error)"])
            return 0
        }
    }
}
