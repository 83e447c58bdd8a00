internal import PealCore

/// The store's verbs inside one transaction. It lives no longer than that.
struct StoreSession: StoreWriting {
    /// What outlives a session.
    struct Context: Sendable {
        let masterKey: MasterKey
        let retentionSeconds: Int64
        let dialect: SQLDialect
        /// Writes what webhooks are told of moments; nil = they are told nothing.
        let noticeWriter: (any MomentNoticeWriter)?
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
}
