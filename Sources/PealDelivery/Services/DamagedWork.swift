internal import Logging
internal import PealCore

/// Does the work that is due even if some of it cannot be read: finds the piece that fails and postpones it for a
/// while, so that it does not stop the others.
struct DamagedWork: Sendable {
    /// How long a failed piece is postponed. The reason for the failure may be temporary.
    static let pause: Duration = .seconds(300)
    /// How many pieces are postponed at a time, so that a failure that concerns all of them postpones only a few.
    private static let postponedMax = 8

    let store: any Store
    let lane: WriteLane
    let time: any TimeSource
    let logger: Logger

    /// - Parameters:
    ///   - kind: what is due, for the log.
    ///   - body: does at most as many pieces as its limit allows, in the same order each time. Returns how many.
    ///   - postpone: makes the first piece due later. Returns its id; nil when nothing is due.
    /// - Returns: how much was done; nil if it still fails.
    func work(
        _ kind: String, limit: Int, _ body: @escaping @Sendable (any StoreWriting, Int) throws -> Int,
        postpone: @escaping @Sendable (any StoreWriting, Timestamp) throws -> String?
    ) async -> Int? {
        var (done, room, postponed) = (0, limit, 0)
        while done < limit {
            do {
                let count = try await store.write(lane) { [room] in try body($0, room) }
                done += count
                if count < room { return done }
            } catch {
                guard !PealError.isOutage(error), postponed < Self.postponedMax else { return nil }
                if room > 1 {
                    room /= 2
                } else {
                    guard await setAside(kind, after: error, postpone) else { return nil }
                    (postponed, room) = (postponed + 1, limit)
                }
            }
        }
        return done
    }

    /// Postpones the first piece of the work, which failed with `error`. Returns whether that was possible.
    func setAside(
        _ kind: String, after error: any Error,
        _ postpone: @escaping @Sendable (any StoreWriting, Timestamp) throws -> String?
    ) async -> Bool {
        let later = time.now + Self.pause
        do {
            guard let id = try await store.write(lane, { try postpone($0, later) }) else { return false }
            logger.error(
                "due work was set aside because it fails",
                metadata: [
                    "kind": "\(kind)", "id": "\(id)", "until": "\(later)",
                    "error": "\(PealError.message(of: error))",
                ])
            return true
        } catch {
            logger.error("due work failed", metadata: ["kind": "\(kind)", "error": "\(error)"])
            return false
        }
    }
}
