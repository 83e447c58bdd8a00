internal import ArgumentParser
internal import PealCore

/// `peal export`: writes every device of an app in a format that `peal import` reads.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write the devices of an app as CSV or JSON lines.",
        discussion: """
            With --json, standard output gets one JSON document: the summary if there is --output, otherwise all \
            devices.
            """)

    @Option(help: "Format: csv or jsonl. Default: csv if the output ends in .csv, otherwise jsonl.")
    var format: DeviceFormat?

    @Option(help: "File to write. Default: standard output.", completion: .file())
    var output: String?

    @Option(help: "Only devices subscribed to this topic.")
    var topic: String?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    /// Whether the devices are one JSON document on standard output.
    private var isDocument: Bool { options.json && output == nil }

    func run() async throws {
        guard !isDocument || format != .csv else {
            throw CommandFailure.usage("--json with --format csv needs --output FILE for the devices")
        }
        let client = try options.client()
        let path = try app.path(["devices"]).adding("topic", topic)
        let format = DeviceFormat.chosen(format, file: output)
        // The file gets its final name when it is complete.
        let file = try output.map { name throws(CommandFailure) in try ReplacementFile(name) }
        let isComplete: Bool
        do {
            let count: Int
            (count, isComplete) = try await export(client, path, format, to: file)
            if let file, let output {
                try file.finish()
                options.show(
                    .compact([
                        ("devices", .integer(count)), ("output", .string(output)),
                        ("incomplete", isComplete ? nil : true),
                    ]))
            }
        } catch {
            file?.discard()
            throw error
        }
        guard isComplete else { throw CommandFailure.incompleteList }
    }

    /// - Returns: the number of devices, and whether the server could read all of them.
    private func export(
        _ client: APIClient, _ path: APIPath, _ format: DeviceFormat, to file: ReplacementFile?
    ) async throws(CommandFailure) -> (count: Int, isComplete: Bool) {
        var progress = Progress(Surroundings.current.time)
        if format == .csv { try write([DeviceColumns.all.joined(separator: ",")], to: file) }
        if isDocument { try write([#"{"items":["#], to: file) }
        let total = try await total(client)
        var (count, isComplete) = (0, true)
        var cursor: String?
        repeat {
            let page = try await client.send(
                .get, path.adding("limit", String(Limits.listItemsMax)).adding("cursor", cursor))
            let devices = page["items"]?.arrayValue ?? []
            try write(lines(of: devices, format, isFirst: count == 0), to: file)
            count += devices.count
            if page["incomplete"] == true { isComplete = false }
            let next = page["next_cursor"]?.stringValue
            guard next == nil || next != cursor else { throw .refused("the server returned the same cursor twice") }
            cursor = next
            progress.report(count, share: total.map { Double(count) / Double(max(1, $0)) }, isLast: cursor == nil)
        } while cursor != nil
        if isDocument { try write([isComplete ? "]}" : #"],"incomplete":true}"#], to: file) }
        return (count, isComplete)
    }

    /// - Parameter isFirst: whether no device was written yet.
    private func lines(of devices: [JSON], _ format: DeviceFormat, isFirst: Bool) -> [String] {
        guard isDocument else { return devices.map { format == .csv ? DeviceColumns.row($0) : $0.text } }
        return devices.enumerated().map { index, device in (isFirst && index == 0 ? "" : ",") + device.text }
    }

    /// How many devices there will be, at least; nil if the server does not say. It does not count retired devices.
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

    private func write(_ lines: [String], to file: ReplacementFile?) throws(CommandFailure) {
        guard !lines.isEmpty else { return }
        let text = lines.joined(separator: "\n")
        if let file { try file.write(text + "\n") } else { Surroundings.current.print(text) }
    }
}
