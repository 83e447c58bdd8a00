internal import PealCore

/// Writes what became of a push: once in `data`, as the vendor's sibling endpoints answer, and once at the top, where
/// its documents put the members.
enum DevtodevAnswer {
    /// - Parameter skipped: what in the audience could not be read.
    static func json(_ report: MessageReport, skipped: [String]) -> JSON {
        let total = report.total
        let erroneous = total.settled - total.accepted
        var details = skipped
        // A network may also say something about a push that it takes.
        if erroneous > 0 { details += total.reasons.keys.sorted() }
        if total.pending > 0 { details.append("queued") }
        let members: [(String, JSON)] = [
            ("audience", .integer(total.devices)), ("successful", .integer(total.accepted)),
            ("erroneous", .integer(erroneous)), ("error_details", .array(details.map(JSON.string))),
        ]
        let data = members + [("message_id", .string(report.message.id.description))]
        return .object(JSON.Members([("status_code", 200), ("data", .object(JSON.Members(data)))] + members))
    }
}
