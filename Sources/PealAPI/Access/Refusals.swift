internal import PealCore
internal import Synchronization

/// Collects refused requests for the audit log. The first refusal of a client on a route is recorded immediately;
/// further ones within a minute share a row. The number of rows is bounded, however many clients are refused.
final class Refusals: Sendable {
    /// The key by which refusals are counted.
    struct Subject: Hashable {
        var action: String
        var actor: Actor
        /// The client's address; nil for several clients together.
        var address: String?
        var app: AppID?
        /// Method and pattern of the path.
        var object: String
    }

    private struct Tally {
        /// Subjects in the order in which they were refused.
        let order: Int
        var count = 0
        var firstAt: Timestamp
        var requestID: String?
        /// When the last row about the subject was created.
        var recordedAt: Duration?
    }

    private struct State {
        var tallies: [Subject: Tally] = [:]
        var nextOrder = 0
        /// Rows that could not be written.
        var unwritten: [AuditEntry] = []
        var rows: TokenBuckets
    }

    /// How long refusals are collected after a row about them.
    static let gathering = Duration.seconds(60)
    /// Also the maximum number of rows that wait for the store.
    private static let subjectsMax = 256
    /// How many rows may be written at once, and then in each minute.
    static let rowsAtOnce = 200
    static let rowsPerMinute = 10

    private let time: any TimeSource
    private let state: Mutex<State>

    init(time: any TimeSource) {
        self.time = time
        state = Mutex(
            State(
                rows: TokenBuckets(
                    capacity: Double(Self.rowsAtOnce), perSecond: Double(Self.rowsPerMinute) / 60, count: 1)))
    }

    /// - Parameter refusal: a refusal because the caller is unknown or not authorized.
    func note(_ refusal: PealError, _ visit: Visit, method: String, at now: Timestamp) {
        let isUnknown = visit.actor == nil
        let isDenied = refusal.code == .unauthorized || refusal.code == .forbidden
        guard isDenied || (refusal.code == .rateLimited && isUnknown) else { return }
        let subject = Subject(
            action: isUnknown ? "authentication.refused" : "scope.refused", actor: visit.actor ?? Actor("nobody"),
            address: visit.address.text, app: visit.app, object: "\(method) \(visit.route ?? "")")
        state.withLock { state in
            var subject = subject
            if state.tallies[subject] == nil, state.tallies.count >= Self.subjectsMax {
                subject = Subject(
                    action: subject.action, actor: Actor("nobody"), address: nil, app: nil, object: "several clients")
            }
            state.nextOrder += 1
            var tally = state.tallies[subject] ?? Tally(order: state.nextOrder, firstAt: now)
            if tally.count == 0 { (tally.firstAt, tally.requestID) = (now, visit.requestID) }
            tally.count += 1
            state.tallies[subject] = tally
        }
    }

    /// The rows that are due now; removes their refusals.
    func takeDue() -> [AuditEntry] {
        let now = time.uptime
        return state.withLock { state in
            var entries = state.unwritten
            state.unwritten = []
            for (subject, tally) in state.tallies.sorted(by: { $0.value.order < $1.value.order }) {
                let isRecent = tally.recordedAt.map { now - $0 < Self.gathering } ?? false
                if isRecent { continue }
                guard tally.count > 0 else {
                    state.tallies[subject] = nil
                    continue
                }
                guard entries.count < Self.subjectsMax, state.rows.wait(0, now: now) == nil else { break }
                state.rows.take(0, now: now)
                entries.append(Self.entry(subject, tally))
                state.tallies[subject] = Tally(
                    order: tally.order, firstAt: tally.firstAt, recordedAt: now)
            }
            return entries
        }
    }

    /// Restores rows that could not be written, which are then due again.
    func giveBack(_ entries: [AuditEntry]) { state.withLock { $0.unwritten = entries + $0.unwritten } }

    private static func entry(_ subject: Subject, _ tally: Tally) -> AuditEntry {
        AuditEntry(
            at: tally.firstAt, actor: subject.actor, address: subject.address, requestID: tally.requestID,
            app: subject.app, action: subject.action,
            object: subject.object + (tally.count > 1 ? ", \(tally.count) times" : ""), outcome: .refused)
    }
}
