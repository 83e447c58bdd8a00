internal import ArgumentParser
internal import PealServer

/// `peal store`: the database as a whole.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store", abstract: "Copy the database to another engine.", subcommands: [Copy.self])

    /// `peal store copy`.
    struct Copy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "copy", abstract: "Copy a store, for example from SQLite to PostgreSQL, and verify the copy.",
            discussion: """
                Stop all servers on both databases first. If the copy is interrupted, run the command again; it continues. \
                The copy needs the same master key as the original.
                """)

        @Option(help: "The database to copy: sqlite:PATH or postgres://…")
        var from: String

        @Option(help: "The database to copy to, which is created (SQLite) or migrated (PostgreSQL).")
        var to: String

        @Flag(help: "Only check whether there is a database to copy.")
        var dryRun = false

        func run() async throws {
            let surroundings = Surroundings.current
            try await CommandFailure.naming {
                try await copyStore(
                    from: from, to: to, environment: surroundings.environment, isDry: dryRun
                ) { surroundings.print($0) }
            }
        }
    }
}
