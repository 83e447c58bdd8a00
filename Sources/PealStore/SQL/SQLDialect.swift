/// What data definitions must spell differently on each engine. Everything else is one text.
package struct SQLDialect: Sendable, Hashable {
    /// The type of byte strings, in place of `{bytes}`.
    package let bytes: String
    /// The type of text that is compared byte by byte, in place of `{text}`.
    package let text: String
    /// Follows a table whose rows lie in the order of its primary key, in place of `{clustered}`.
    package let clustered: String
    /// Follows a table whose rows are often updated, in place of `{updated}`.
    package let updated: String
    /// Follows a query whose rows are locked against other nodes, passing over locked ones, in place of `{lock}`.
    package let lock: String

    package init(bytes: String, text: String, clustered: String, updated: String, lock: String) {
        self.bytes = bytes
        self.text = text
        self.clustered = clustered
        self.updated = updated
        self.lock = lock
    }

    /// SQLite 3.38 or later.
    package static let sqlite = SQLDialect(
        bytes: "BLOB", text: "TEXT", clustered: "WITHOUT ROWID", updated: "", lock: "")

    /// `template` as this engine reads it.
    package func text(of template: String) -> String {
        template.replacing("{bytes}", with: bytes).replacing("{text}", with: text)
            .replacing("{clustered}", with: clustered).replacing("{updated}", with: updated)
            .replacing("{lock}", with: lock)
    }
}
