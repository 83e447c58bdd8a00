internal import ArgumentParser
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
        let path = try app.path("devices").adding("topic", topic)
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
