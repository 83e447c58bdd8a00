internal import Logging
internal import PealCore

/// Deletes what is past its time, in small pieces with pauses, so that nobody waits behind it.
struct Pruner: Sendable {
    private static let interval: Duration = .seconds(600)
    private static let rowsPerPiece = 1000
    private static let pauseBetweenPieces: Duration = .milliseconds(200)

    let context: DeliveryContext

    /// Runs until the process stops.
    func run() async {
        let never = Signal()
        context.onStop(never)
        while await context.pause(never, atMost: Self.interval) {
            while await prune() == Self.rowsPerPiece {
                guard await context.pause(never, atMost: Self.pauseBetweenPieces) else { return }
            }
        }
    }

    private func prune() async -> Int {
        let now = context.time.now
        do {
            return try await context.store.write(.rest) { try $0.prune(now: now, limit: Self.rowsPerPiece) }
        } catch {
            context.logger.error("old rows could not be deleted", metadata: ["error": "\(error)"])
            return 0
        }
    }
}
