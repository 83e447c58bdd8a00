/// What the body of one request, and the answer to it, take of the memory for all of them. A port: the API and the
/// console share one budget, but neither imports the other.
package protocol BodyShare: AnyObject, Sendable {
    /// - Parameter isUnknown: the caller has not been authenticated yet.
    /// - Throws: `unavailable` when other requests, or other requests of this client or app, hold too much.
    func take(_ count: Int, isUnknown: Bool) throws(PealError)
    /// The caller has been authenticated.
    func becomeKnown()
    func release()
}

/// Holds a share until nothing refers to it: an answer is never written if its client has gone.
package final class BodyHold: Sendable {
    /// A longer answer counts, and is written in pieces of this size, so that a client must read each of them in time.
    package static let pieceBytes = 64 * 1024

    package let share: any BodyShare

    package init(_ share: any BodyShare) { self.share = share }

    /// Counts a long answer.
    /// - Parameter changesNothing: the request may be refused although it was handled.
    /// - Throws: `unavailable` when other requests, or other requests of this client or app, hold too much.
    package func takeAnswer(_ count: Int, changesNothing: Bool) throws(PealError) {
        share.becomeKnown()
        if changesNothing { try share.take(count, isUnknown: false) }
    }

    deinit { share.release() }
}
