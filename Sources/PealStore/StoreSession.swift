internal import PealCore

/// The store's verbs inside one transaction. It lives no longer than that.
struct StoreSession: StoreWriting {
    /// What outlives a session.
    struct Context: Sendable {
        let masterKey: MasterKey
        let retentionSeconds: Int64
        let dialect: SQLDialect
        /// What webhooks are sent, and which of them are.
        let composers: ReportComposers
    }

    /// What this transaction has looked up already; gone with it, so a transaction undone leaves nothing wrong behind.
    final class Memo {
        var words: [ExactText: Int64] = [:]
        var topics: [ExactText: Int64] = [:]
    }

    let connection: any SQLConnection
    let context: Context
    let memo = Memo()

    init(_ connection: any SQLConnection, _ context: Context) {
        self.connection = connection
        self.context = context
    }

    /// The next number of a series, counted from 1; a number may be lost, never given twice.
    func nextNumber(_ series: String) throws -> Int64 {
        let number = try connection.int(
            """
            INSERT INTO counter (name, value) VALUES ($1, 1)
            ON CONFLICT (name) DO UPDATE SET value = counter.value + 1 RETURNING value
            """, [.text(series)])
        guard let number else { throw PealError.damaged("a counter") }
        return number
    }
}
