internal import CPostgreSQL
internal import PealCore

/// PostgreSQL's error for a failed statement or connection. It never contains parameters.
struct PostgresFailure: Error, CustomStringConvertible {
    /// Five characters (PostgreSQL, Appendix A); nil when the connection failed and there was no answer.
    let state: String?
    let description: String
    /// Whether the server accepted a statement and did not answer.
    private let isHang: Bool

    /// The error in the answer to a statement.
    init(_ result: OpaquePointer) {
        func field(_ name: Character) -> String? {
            PQresultErrorField(result, Int32(name.asciiValue ?? 0)).map { String(cString: $0) }
        }
        state = field("C")
        isHang = false
        description = "PostgreSQL error \(state ?? "none"): \(field("M") ?? "no message")"
    }

    private init(state: String?, _ description: String, isHang: Bool = false) {
        self.state = state
        self.isHang = isHang
        self.description = description
    }

    /// The connection ended, or there was never one.
    static func lost(_ connection: OpaquePointer?) -> PostgresFailure {
        let text = connection.flatMap { PQerrorMessage($0) }.map { String(cString: $0) } ?? "no memory"
        let lines = text.split(whereSeparator: \.isNewline).map { $0.drop(while: \.isWhitespace) }
        return PostgresFailure(state: nil, "no connection to PostgreSQL: \(lines.joined(separator: " "))")
    }

    static let hang = PostgresFailure(state: nil, "PostgreSQL does not answer: it hangs", isHang: true)

    /// The statement was sent in a transaction that an earlier error had ended.
    static let aborted = PostgresFailure(state: "25P02", "an earlier statement of the transaction failed")

    /// What a caller may do about the failure.
    enum Remedy {
        /// The same transaction may succeed immediately, because it conflicted with another one.
        case retry
        /// A row with the same unique key exists. If another transaction inserted it meanwhile, the repeated
        /// transaction sees it.
        case retryAfterDuplicate
        /// The same transaction may succeed on another connection.
        case reconnect
        /// Wait before trying again.
        case wait
        /// The statement is wrong.
        case none
    }

    var remedy: Remedy {
        // A server that hangs would also keep the next connection waiting.
        guard let state else { return isHang ? .wait : .reconnect }
        switch state {
        // Serialization failure, deadlock, lock not available.
        case "40001", "40P01", "55P03": return .retry
        case "23505": return .retryAfterDuplicate
        // A pooler moved the connection to a server that does not have the prepared statement, or to a standby.
        case "26000", "25006": return .reconnect
        // Shutdown of the server, or of this connection; the server is starting.
        case "57P01", "57P02", "57P03", "57P05", "25P03": return .reconnect
        // The time-out of statements, and that of transactions (PostgreSQL 17).
        case "57014", "25P04": return .wait
        // Insufficient privilege: no statement is wrong, and all succeed once the right is granted again.
        case "42501": return .wait
        default: break
        }
        switch state.prefix(2) {
        case "08": return .reconnect
        // Insufficient resources, and failures of the system.
        case "53", "58": return .wait
        default: return .none
        }
    }

    /// Whether a COMMIT that ended with this error may have taken effect.
    var hidesCommit: Bool {
        guard let state else { return true }
        return state.hasPrefix("57P") || state.hasPrefix("08")
    }

    /// The error that a caller receives.
    static func refusal(_ error: any Error) -> any Error {
        guard let failure = error as? PostgresFailure else { return error }
        // PostgreSQL's texts cannot hold U+0000.
        if failure.state == "22021" { return PealError(.invalidField, "a text contains U+0000") }
        // Disk full.
        if failure.state == "53100" {
            return PealError(.unavailable, "the database's disk is full", retryAfterSeconds: 1)
        }
        if failure.state == "42501" {
            return PealError(.unavailable, "the database's user lacks a right: \(failure)", retryAfterSeconds: 1)
        }
        switch failure.remedy {
        case .retry, .reconnect, .wait: return unavailable
        case .retryAfterDuplicate, .none: return PealError(.internal, "the database rejected a statement: \(failure)")
        }
    }

    static let unavailable = PealError(.unavailable, "the database is not available", retryAfterSeconds: 1)
}
