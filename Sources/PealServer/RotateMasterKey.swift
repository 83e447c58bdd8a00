internal import Foundation
internal import PealCore
internal import PealPostgres
internal import PealSQLite
internal import PealStore

/// Replaces the master key of the store.
/// - Parameters:
///   - file: contains the next key, and is created if it does not exist. nil for one next to the current key's file,
///     which it finally replaces.
///   - prepares: only makes both keys valid, so that servers can be restarted before the replacement is finished.
///   - isDry: only checks whether it is possible.
/// - Returns: lines to print.
/// - Throws: `ConfigurationFailure` when the current key is not in a file and `file` is nil.
package func rotateMasterKey(
    _ configuration: ServerConfiguration, to file: String?, prepares: Bool, isDry: Bool
) async throws -> String {
    PrivateFiles.fromNowOn()
    // A missing database would be created, and a key beside it.
    try Storage.checkExists(configuration.store)
    let configured = try Storage.checkedKey(configuration)
    let engine = try Storage.engine(
        configuration.store, preparesStatements: configuration.preparesStatements, report: StandardStream.warn)
    defer { try? engine.close() }
    let rotation = MasterKeyRotation(engine, configured: configured)
    if try await rotation.isUnderWay() {
        guard !prepares else { return prepared }
        if isDry { return "Would finish replacing the master key with the configured one." }
        try await refuseWhileServersRun(engine, rotation)
        let count = try await rotation.seal(next: configured)
        try await rotation.end(next: configured)
        return "The master key was replaced with the configured one: \(Spelling.counted(count, "secret")) sealed."
    }
    let present = configuration.masterKey == nil ? configuration.masterKeyFile ?? defaultFile(configuration) : nil
    guard let nextFile = file ?? present.map({ $0 + ".new" }) else {
        throw ConfigurationFailure(.masterKey, "name a file for the next key with --to-file")
    }
    let isThere = FileManager.default.fileExists(atPath: nextFile)
    if isDry {
        let key = "\(isThere ? "the" : "a new") key in \(nextFile)"
        return prepares
            ? "Would make both keys valid: the current one and \(key)." : "Would replace the master key with \(key)."
    }
    let lock = try lock(present ?? nextFile)
    defer { lock.release() }
    if !prepares { try await refuseWhileServersRun(engine, rotation) }
    let next = try await begin(rotation, nextFile, isThere: isThere)
    if let present { try PrivateFiles.give([nextFile, present + ".lock"], toOwnerOf: present) }
    if case .sqlite(let path) = configuration.store { try PrivateFiles.giveDatabase(path) }
    if prepares { return prepared + "\nThe next key is in \(nextFile)." }
    return try await finish(rotation, next, nextFile, replacing: file == nil ? present : nil)
}

/// Makes both keys valid.
/// - Returns: the next key, which is created if its file does not exist.
private func begin(_ rotation: MasterKeyRotation, _ nextFile: String, isThere: Bool) async throws -> MasterKey {
    let next = isThere ? try MasterKey.load(nextFile) : try MasterKey.create(nextFile)
    do {
        try await rotation.prepare(next: next)
    } catch {
        // A key that was not used must not look like one that was. If the answer to the commit was lost, it may be in
        // use: then the next run finds the file and continues.
        let isUncertain = (error as? PealError)?.code == .unavailable
        if !isThere, !isUncertain { try? FileManager.default.removeItem(atPath: nextFile) }
        throw error
    }
    return next
}

/// Seals everything under the next key.
/// - Parameter present: the file that the next key's file replaces; nil if both stay.
/// - Returns: lines to print.
private func finish(
    _ rotation: MasterKeyRotation, _ next: MasterKey, _ nextFile: String, replacing present: String?
) async throws -> String {
    let secrets = Spelling.counted(try await rotation.seal(next: next), "secret")
    guard let present else {
        try await rotation.end(next: next)
        return """
            The master key was replaced by the one in \(nextFile): \(secrets) sealed.
            Set PEAL_MASTER_KEY_FILE=\(nextFile) before you start the server, and keep a copy of the file elsewhere.
            """
    }
    // Done while both keys are valid, so that a server starts with either file.
    let former = try moveKeyFiles(present: present, next: nextFile)
    try await rotation.end(next: next)
    return """
        The master key in \(present) was replaced: \(secrets) sealed. Keep a copy of the file elsewhere.
        The former key is in \(former); earlier backups need it.
        """
}

/// Prevents a second replacement from using the key files at the same time.
private func lock(_ file: String) throws -> FileLock {
    do {
        return try FileLock(besideDatabase: file)
    } catch let failure as StoreStartFailure where failure.isInUse {
        throw StoreStartFailure("another process is replacing the master key \(file)")
    }
}

/// Servers that do not know the next key could no longer open what is sealed with it.
private func refuseWhileServersRun(_ engine: any SQLEngine, _ rotation: MasterKeyRotation) async throws {
    guard let shared = engine as? PostgresEngine else { return }
    // By the clock of the database, which servers use.
    guard try await rotation.serverCount(at: shared.serverTime()) > 0 else { return }
    let wait = "wait for \(Limits.serverPresenceSeconds) seconds"
    throw StoreStartFailure(
        try await rotation.isPrepared()
            ? "servers that were started before --prepare still use the database: restart them and \(wait)"
            : "servers use the database: stop them all and \(wait), or begin with --prepare")
}

/// Moves the next key's file to the path of the current one. Whenever the process ends, there is a key at `present`,
/// and no key is lost, because earlier backups need the former keys.
/// - Returns: the path at which the former key remains.
private func moveKeyFiles(present: String, next: String) throws -> String {
    let files = FileManager.default
    var (former, number) = (present + ".former", 1)
    while files.fileExists(atPath: former), !files.contentsEqual(atPath: former, andPath: present) {
        number += 1
        former = "\(present).former.\(number)"
    }
    if !files.fileExists(atPath: former) { try files.linkItem(atPath: present, toPath: former) }
    guard rename(next, present) == 0 else {
        throw StoreStartFailure("\(next) cannot be moved to \(present): \(String(cString: strerror(errno)))")
    }
    try DurableName.keep(present)
    return former
}

private let prepared = """
    Both keys are valid now. Restart every server, with either key, and run the command again without --prepare.
    After that, restart the servers that still have the former key with the next one.
    """

private func defaultFile(_ configuration: ServerConfiguration) -> String? {
    guard case .sqlite(let path) = configuration.store else { return nil }
    return MasterKey.file(besideDatabase: path)
}
