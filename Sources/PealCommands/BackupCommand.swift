internal import ArgumentParser
internal import PealServer

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
        let configuration = try await options.load()
        Surroundings.current.print(
            try await CommandFailure.naming { try await backUpStore(configuration, to: to, isDry: dryRun) })
    }
}

/// `peal restore`.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restore a backup. Never replaces an existing store.",
        discussion: """
            Takes the options and the environment of serve. An existing store is never replaced. Afterwards, serve \
            --paused accepts requests without sending anything.
            """)

    @Option(help: "The folder with the backup.", completion: .directory)
    var from: String

    @Flag(help: "Only check whether it is possible, and change nothing.")
    var dryRun = false

    @OptionGroup var options: ServerOptions

    func run() async throws {
        let configuration = try await options.load()
        Surroundings.current.print(
            try await CommandFailure.naming { try await restoreStore(configuration, from: from, isDry: dryRun) })
    }
}
