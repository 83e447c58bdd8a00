internal import Crypto
internal import Foundation
internal import PealCore
internal import PealSQLite
internal import PealStore

/// A backup on disk: a folder with the database and a description of it. The master key is not in it.
private struct BackupFolder {
    let path: String
    var database: String { file("peal.db") }
    var description: String { file(Self.descriptionName) }

    static let descriptionName = "backup.json"

    private func file(_ name: String) -> String { URL(fileURLWithPath: path).appendingPathComponent(name).path }

    /// Writes the description of `file`, a database that will be moved to `database`.
    func describe(_ file: String, schema: Int) throws -> (sha256: String, bytes: Int) {
        let (sha256, bytes) = try Self.digest(file)
        let text: JSON = [
            "at": .string(SystemTime().now.description), "version": .string(PealVersion.current),
            "schema": .integer(schema), "database": .string(URL(fileURLWithPath: database).lastPathComponent),
            "bytes": .integer(bytes), "sha256": .string(sha256),
        ]
        try Data((text.text + "\n").utf8).write(to: URL(fileURLWithPath: description), options: .atomic)
        return (sha256, bytes)
    }

    /// When the backup was made, and the SHA-256 of its database.
    /// - Throws: `StoreStartFailure` if there is no backup, or its description is damaged.
    func described() throws -> (at: String, sha256: String) {
        guard FileManager.default.fileExists(atPath: database) else {
            throw StoreStartFailure("there is no backup in \(path)")
        }
        guard let data = FileManager.default.contents(atPath: description),
            let json = try? JSONParser.parse(Array(data)), let sha256 = json["sha256"]?.stringValue
        else { throw StoreStartFailure("\(description) is missing or damaged") }
        return (json["at"]?.stringValue ?? "unknown time", sha256)
    }

    /// - Parameter copy: the database or a copy of it.
    /// - Throws: `StoreStartFailure` if it is not what the description says.
    func check(_ copy: String, sha256: String) throws {
        guard try Self.digest(copy).sha256 == sha256 else {
            throw StoreStartFailure("\(database) is damaged: its SHA-256 does not match \(Self.descriptionName)")
        }
    }

    /// SHA-256 in hexadecimal and the size of a file.
    private static func digest(_ path: String) throws -> (sha256: String, bytes: Int) {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        var (hash, count) = (SHA256(), 0)
        while let data = try file.read(upToCount: 1 << 20), !data.isEmpty {
            hash.update(data: data)
            count += data.count
        }
        return (Hex.encode(hash.finalize()), count)
    }
}

/// Writes a consistent copy of the database to a folder, even while a server uses the database. Files get mode 0600.
/// - Parameter isDry: only checks whether it is possible.
/// - Returns: lines to print.
/// - Throws: `ConfigurationFailure` for a store that has its own backup tools; otherwise why there is no backup.
package func backUpStore(
    _ configuration: ServerConfiguration, to folder: String, isDry: Bool
) async throws -> String {
    PrivateFiles.fromNowOn()
    guard case .sqlite(let path) = configuration.store else {
        throw ConfigurationFailure(.storeURL, "back up PostgreSQL with its own tools: see docs/operations.md")
    }
    guard FileManager.default.fileExists(atPath: path) else {
        throw StoreStartFailure("there is no database at \(path) that this user can read")
    }
    let backup = BackupFolder(path: folder)
    guard !FileManager.default.fileExists(atPath: backup.database) else {
        throw StoreStartFailure("\(folder) already has a backup")
    }
    if isDry {
        try checkWritable(folder)
        return "Would back up \(path) to \(backup.database)."
    }
    do {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
        throw StoreStartFailure("cannot create the folder \(folder): \(error.localizedDescription)")
    }
    let (sha256, bytes) = try copyDatabase(path, to: backup)
    return """
        Backed up \(path) to \(backup.database): \(bytes) bytes, SHA-256 \(sha256).
        The master key is not part of the backup. Keep a copy of it in another place.
        """
}

/// The copy gets its name last, so that an interrupted backup does not look like one.
private func copyDatabase(_ path: String, to backup: BackupFolder) throws -> (sha256: String, bytes: Int) {
    let unfinished = backup.database + ".unfinished"
    let described = try withCopy(unfinished, of: path) {
        try SQLiteBackup.write(path, to: unfinished)
        let schema = try SQLiteBackup.check(unfinished, as: path)
        let described = try backup.describe(unfinished, schema: schema)
        try FileManager.default.moveItem(atPath: unfinished, toPath: backup.database)
        for file in [backup.database, backup.path] { try DurableName.keep(file) }
        return described
    }
    PrivateFiles.closeToOthers([backup.description, backup.database])
    return described
}

/// Runs a step that makes the file `copy` of `original`. If it fails, the file is deleted: on a full disk, it would take
/// the space that the server needs.
/// - Throws: `StoreStartFailure`.
private func withCopy<R>(_ copy: String, of original: String, _ make: () throws -> R) throws -> R {
    func clear() {
        for file in [copy, copy + "-journal"] { try? FileManager.default.removeItem(atPath: file) }
    }
    clear()
    do {
        return try make()
    } catch {
        clear()
        guard !(error is StoreStartFailure) else { throw error }
        throw StoreStartFailure("\(original) cannot be copied to \(copy): \(systemReason(of: error))")
    }
}

/// Checks that a folder exists and can be written to, or could be created.
/// - Throws: `StoreStartFailure`.
private func checkWritable(_ folder: String) throws {
    var path = URL(fileURLWithPath: folder).path
    while !FileManager.default.fileExists(atPath: path), path.count > 1 {
        path = URL(fileURLWithPath: path).deletingLastPathComponent().path
    }
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
        throw StoreStartFailure("cannot create the folder \(folder): \(path) is not a folder")
    }
    guard access(path, W_OK | X_OK) == 0 else {
        throw StoreStartFailure("cannot create the folder \(folder): \(path) is not writable")
    }
}

/// Puts the database of a backup where the configuration says that the store is.
/// - Parameter isDry: only checks whether it is possible.
/// - Returns: lines to print.
/// - Throws: `StoreStartFailure` when a store already exists, or the backup is damaged.
package func restoreStore(
    _ configuration: ServerConfiguration, from folder: String, isDry: Bool
) async throws -> String {
    PrivateFiles.fromNowOn()
    guard case .sqlite(let path) = configuration.store else {
        throw ConfigurationFailure(.storeURL, "restore PostgreSQL with its own tools: see docs/operations.md")
    }
    for existing in [path, path + "-wal", path + "-shm"] where FileManager.default.fileExists(atPath: existing) {
        throw StoreStartFailure("\(existing) exists, so nothing was restored; move the existing store away first")
    }
    let backup = BackupFolder(path: folder)
    let (at, sha256) = try backup.described()
    let target = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard FileManager.default.fileExists(atPath: target) else {
        throw StoreStartFailure("the folder \(target) does not exist; create it for the user that runs the server")
    }
    if isDry {
        try backup.check(backup.database, sha256: sha256)
        return "Would restore the backup of \(at) to \(path).\n\(masterKeyNote(configuration, path))"
    }
    try copyDatabase(of: backup, sha256: sha256, to: path)
    return """
        Restored the backup of \(at) to \(path).
        \(masterKeyNote(configuration, path))
        Start the server with peal serve --paused to look around before anything is sent.
        """
}

/// The store gets its name last, when the copy has been checked and is on the disk.
private func copyDatabase(of backup: BackupFolder, sha256: String, to path: String) throws {
    // A server may still have the moved files open.
    let lock = try FileLock(besideDatabase: path)
    defer { lock.release() }
    let unfinished = path + ".restoring"
    try withCopy(unfinished, of: backup.database) {
        try FileManager.default.copyItem(atPath: backup.database, toPath: unfinished)
        try backup.check(unfinished, sha256: sha256)
        _ = try SQLiteBackup.check(unfinished, as: backup.database)
        let copy = try FileHandle(forUpdating: URL(fileURLWithPath: unfinished))
        try copy.synchronize()
        try copy.close()
        try FileManager.default.moveItem(atPath: unfinished, toPath: path)
        try DurableName.keep(path)
    }
    PrivateFiles.closeToOthers([path])
    try PrivateFiles.giveDatabase(path)
}

private func masterKeyNote(_ configuration: ServerConfiguration, _ path: String) -> String {
    guard configuration.masterKey == nil, configuration.masterKeyFile == nil else {
        return "The server needs the master key that the database was created with."
    }
    let file = MasterKey.file(besideDatabase: path)
    return FileManager.default.fileExists(atPath: file)
        ? "The master key is \(file)." : "Put the master key of the database at \(file) (mode 0600)."
}
