/// The statements of moments. A test reads the plan of each, as of `HotSQL`.
enum MomentSQL {
    private static let place = "app = $1 AND message = $2 AND user_id = $3"

    static let insert = """
        INSERT INTO moment (\(MomentRow.columns), due_at, name_key)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
            $23)
        """

    /// The compare-and-set: the row must still be the one that was judged.
    static let change = """
        UPDATE moment SET state = $4, rev = $5, arm = $6, claimable = $7, fallback_at = $8, deadline = $9,
            awaits_device = $10, route = $11, had_device = $12, device = $13, tried = $14, claim_id = $15,
            claim_until = $16, has_ledger = $17, cancel_requested = $18, outcome = $19, reason = $20, request_key = $21,
            due_at = $22
        WHERE \(place) AND state = $23 AND rev = $24 AND fallback_at = $25
        """

    static let leave = "DELETE FROM moment WHERE \(place) AND state = 1"

    static let one = "SELECT \(MomentRow.columns) FROM moment WHERE \(place)"
    static let named = "SELECT \(MomentRow.columns) FROM moment WHERE app = $1 AND name_key = $2"
    static let ofMessage = "SELECT \(MomentRow.columns) FROM moment WHERE app = $1 AND message = $2 ORDER BY user_id"
    static let openOfUser = """
        SELECT \(MomentRow.columns) FROM moment WHERE app = $1 AND user_id = $2 AND state = 1 ORDER BY deadline LIMIT $3
        """
    static let awaiting = """
        SELECT \(MomentRow.columns) FROM moment
        WHERE app = $1 AND user_id = $2 AND state = 1 AND awaits_device = 1 ORDER BY deadline
        """
    /// A message has at most `Limits.momentUsersMax` rows, mostly one.
    static let ofDevice = """
        SELECT \(MomentRow.columns) FROM moment WHERE app = $1 AND message = $2 AND device = $3
        """
    /// Whose alerts are with the sender.
    static let underWay = """
        SELECT \(MomentRow.columns) FROM moment WHERE app = $1 AND message = $2 AND state IN (3, 4) ORDER BY user_id
        """

    static let due = "SELECT \(MomentRow.columns) FROM moment WHERE state = 1 AND due_at <= $1 ORDER BY due_at LIMIT $2"
    static let lapsed = """
        SELECT \(MomentRow.columns) FROM moment WHERE state = 2 AND due_at <= $1 ORDER BY due_at LIMIT $2
        """
    static let nextDue = "SELECT due_at FROM moment WHERE state = 1 ORDER BY due_at LIMIT 1"
    static let nextLapsed = "SELECT due_at FROM moment WHERE state = 2 ORDER BY due_at LIMIT 1"

    static let counts = """
        SELECT state, route, outcome, reason FROM moment WHERE app = $1 AND message = $2
        """

    static let devices = "SELECT seq, route, registered_at FROM device WHERE app = $1 AND user_id = $2 AND state = 1"

    /// The first moment that leaves open takes its message along.
    static let begin = """
        UPDATE message SET state = 3, cutoff_at = $3 WHERE app = $1 AND message = $2 AND state = 1
        """

    /// Every statement by name.
    static let all: KeyValuePairs<String, String> = [
        "moment.change": change, "moment.leave": leave, "moment.one": one, "moment.named": named,
        "moment.ofMessage": ofMessage, "moment.openOfUser": openOfUser, "moment.awaiting": awaiting,
        "moment.ofDevice": ofDevice, "moment.underWay": underWay, "moment.due": due, "moment.lapsed": lapsed,
        "moment.nextDue": nextDue,
        "moment.nextLapsed": nextLapsed, "moment.counts": counts, "moment.devices": devices, "moment.begin": begin,
    ]
}
