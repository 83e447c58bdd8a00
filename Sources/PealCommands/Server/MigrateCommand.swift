internal import ArgumentParser
internal import PealServer

/// `peal migrate`: brings the database to the schema of this program and ends.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Bring the database to this program's schema.")

    @OptionGroup var options: ServerOptions

    func run() async throws {
        let configuration = try await options.load()
        Surroundings.current.print(try await CommandFailure.naming { try await migrateStore(configuration) })
    }
}
