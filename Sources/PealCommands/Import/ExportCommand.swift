internal import ArgumentParser
internal import Foundation
internal import PealCore

/// `peal export`: writes every device of an app in a format that `peal import` reads.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write the devices of an app as CSV or JSON lines.",
        discussion: "With --json the summary is printed as JSON, and --output is required.")

    @Option(help: "Format: csv or jsonl. Default: csv if the output ends in .csv, otherwise jsonl.")
    var format: DeviceFormat?

    @Option(help: "File to write. Default: standard output.")
    var output: String?

    @Option(help: "Only devices subscribed to this topic.")
    var topic: String?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        guard output != nil || !options.json else {
            throw CommandFailure.usage("--json needs --output FILE for the devices")
        }
        let client = try options.client()
        let path = try app.path(["devices"]).adding("topic", topic)
        let format = DeviceFormat.chosen(format, file: output)
        // The file gets its final name when it is complete.
        let file = try output.map { path throws(CommandFailure) in try OutputFile("\(path).partial") }
        var progress = Progress(Surroundings.current.time)
        if format == .csv { try write([DeviceColumns.all.joined(separator: ",")], to: file) }
        let total = try await total(client)
        var count = 0
        var cursor: String?
        repeat {
            let page = try await client.send(
                .get, path.adding("limit", String(Limits.listItemsMax)).adding("cursor", cursor))
            let devices = page["items"]?.arrayValue ?? []
            try write(devices.map { format == .csv ? DeviceColumns.row($0) : $0.text }, to: file)
            count += devices.count
            let next = page["next_cursor"]?.stringValue
            guard next == nil || next != cursor else {
                throw CommandFailure.refused("the server returned the same cursor twice")
            }
            cursor = next
            progress.report(count, share: total.map { Double(count) / Double(max(1, $0)) }, isLast: cursor == nil)
        } while cursor != nil
        if let file, let output {
            try file.finish(as: output)
            options.show(["devices": .integer(count), "output": .string(output)])
        }
    }

    /// How many devices there will be; nil if the server does not say. Retired devices are not counted.
    private func total(_ client: APIClient) async throws(CommandFailure) -> Int64? {
        if let topic {
            return try await client.send(.get, try app.path(["topics", topic]), isMissingFine: true)?["devices"]?
                .integerValue
        }
        let path = APIPath(["apps", try app.id(), "audience"], verb: ":count")
        do {
            return try await client.send(.post, path, body: ["audience": ["all": true]], isHarmless: true)["devices"]?
                .integerValue
        } catch {
            // A key without the scope, or an earlier server: the export does not depend on it.
            return nil
        }
    }

    private func write(_ lines: [String], to file: OutputFile?) throws(CommandFailure) {
        guard !lines.isEmpty else { return }
        let text = lines.joined(separator: "\n")
        if let file { try file.write(text + "\n") } else { Surroundings.current.print(text) }
    }
}

/// A file that is written in pieces.
struct OutputFile {
    private let handle: FileHandle
    let path: String

    /// - Parameter isContinued: appends to an existing file instead of replacing it.
    /// - Throws: `usage` when it cannot be written.
    init(_ path: String, isContinued: Bool = false) throws(CommandFailure) {
        self.path = path
        let files = FileManager.default
        if !isContinued || !files.fileExists(atPath: path) {
            // Other users must not read tokens and user ids.
            _ = files.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        guard let handle = FileHandle(forWritingAtPath: path) else { throw .usage("cannot write \(path)") }
        if isContinued { _ = try? handle.seekToEnd() }
        self.handle = handle
    }

    /// - Throws: `failed` when it cannot be written, for example because the disk is full.
    func write(_ text: String) throws(CommandFailure) {
        do {
            try handle.write(contentsOf: Data(text.utf8))
        } catch {
            throw .failed("cannot write \(path): \(error)")
        }
    }

    /// - Throws: `failed` when the file cannot be renamed.
    func finish(as name: String) throws(CommandFailure) {
        do {
            try handle.close()
            try? FileManager.default.removeItem(atPath: name)
            try FileManager.default.moveItem(atPath: path, toPath: name)
        } catch {
            throw .failed("cannot write \(name): \(error)")
        }
    }
}
