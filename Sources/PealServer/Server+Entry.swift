internal import PealStore

/// Runs the server until SIGTERM or SIGINT.
/// - Throws: `ConfigurationFailure` when it cannot start as configured; otherwise what ended it.
package func runServer(_ configuration: ServerConfiguration) async throws {
    try await Server(configuration).run()
}

/// Brings the database to this program's schema. Returns a line for people.
package func migrateStore(_ configuration: ServerConfiguration) async throws -> String {
    let storage = try Storage.open(configuration)
    try await storage.migrate(configuration)
    let version = try await storage.store.schemaVersion()
    try storage.close()
    return "The database is at schema version \(version)."
}
