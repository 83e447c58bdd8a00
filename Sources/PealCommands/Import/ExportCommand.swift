internal import ArgumentParser
internal import Foundation
internal import PealCore

/// `peal export`: writes every device of an app, as `peal import` reads them.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write the devices of an app as CSV or JSON lines.",
        discussion: "With --json the summary is one JSON document, and --output is needed for the devices.")

    @Option(help: "csv or jsonl; otherwise an output that ends in .csv is CSV.")
    var format: DeviceFormat?

    @Option(help: "File to write; standard output otherwise.")
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
        // Under its own name only once it is whole.
        let file = try output.map { path throws(CommandFailure) in try OutputFile("\(path).partial") }
        var progress = Progress(Surroundings.current.time)
        if format == .csv { try write([DeviceColumns.all.joined(separator: ",")], to: file) }
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
                throw CommandFailure.refused("the server repeats a page")
            }
            cursor = next
            progress.tell(count, isLast: cursor == nil)
        } while cursor != nil
        if let file, let output {
            try file.finish(as: output)
            options.show(["devices": .integer(count), "output": .string(output)])
        }
    }

    private func write(_ lines: [String], to file: OutputFile?) throws(CommandFailure) {
        guard !lines.isEmpty else { return }
        let text = lines.joined(separator: "\n")
        if let file { try file.write(text + "\n") } else { Surroundings.current.print(text) }
    }
}

/// A file that is written piece by piece.
struct OutputFile {
    private let handle: FileHandle
    let path: String

    /// - Parameter isContinued: adds to what is there instead of replacing it.
    /// - Throws: `usage` when it cannot be written.
    init(_ path: String, isContinued: Bool = false) throws(CommandFailure) {
        self.path = path
        let files = FileManager.default
        if !isContinued || !files.fileExists(atPath: path) { _ = files.createFile(atPath: path, contents: nil) }
        guard let handle = FileHandle(forWritingAtPath: path) else { throw .usage("cannot write \(path)") }
        if isContinued { _ = try? handle.seekToEnd() }
        self.handle = handle
    }

    /// - Throws: `failed` when the disk is full, for one.
    func write(_ text: String) throws(CommandFailure) {
        do {
            try handle.write(contentsOf: Data(text.utf8))
        } catch {
            throw .failed("cannot write \(path): \(error)")
        }
    }

    /// - Throws: `failed` when what was written cannot be kept under that name.
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
