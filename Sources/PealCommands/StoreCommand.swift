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

/// `peal backup`: copies the database of this machine's server.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copy the database to a folder, even while the server is running.",
        discussion: """
            Takes the options and the environment of serve, and runs on the machine of the SQLite database. The copy is \
            consistent. The master key is not part of it.
            """)

    @Option(
        help: "The folder to write to. It is created if necessary, and must not contain a backup.",
        completion: .directory)
    var to: String

    @Flag(help: "Only check whether it is possible, and change nothing.")
    var dryRun = false

    @OptionGroup var options: ServerOptions

    func run() async throws {
        try await options.print { try await backUpStore($0, to: to, isDry: dryRun) }
    }
}

/// `peal restore`.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restore a backup.",
        discussion: """
            Takes the options and the environment of serve. It never replaces an existing store. Afterwards, serve \
            --paused accepts requests without sending anything.
            """)

    @Option(help: "The folder with the backup.", completion: .directory)
    var from: String

    @Flag(help: "Only check whether it is possible, and change nothing.")
    var dryRun = false

    @OptionGroup var options: ServerOptions

    func run() async throws {
        try await options.print { try await restoreStore($0, from: from, isDry: dryRun) }
    }
}
