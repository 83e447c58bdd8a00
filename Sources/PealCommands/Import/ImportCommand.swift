internal import ArgumentParser
internal import PealCore

/// `peal import`: registers devices from a file or from a running Pivotal server.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Register devices from a file or from a running Pivotal server.",
        discussion: """
            A file is CSV with a header, or has one JSON object per line, with the members of a device in the native \
            API. Refused devices are reported with their line; all others are imported.
            With --from pivotal, --api-key is that of the Pivotal application, and Peal's is PEAL_API_KEY or \
            PEAL_ADMIN_TOKEN. With --source-api-key too, --api-key is Peal's as usual.
            Exit codes: 0 all devices imported, 1 some refused or import aborted, 2 invalid usage, 3 server unreachable.
            """)

    /// The kind of source.
    enum Origin: String, CaseIterable, ExpressibleByArgument {
        case file
        case pivotal
    }

    @Argument(help: "File with devices, or - for standard input.", completion: .file())
    var file: String?

    @Option(help: "Format of the file: csv or jsonl. Default: csv if the name ends in .csv, otherwise jsonl.")
    var format: DeviceFormat?

    @Option(help: "Source: file or pivotal.")
    var from = Origin.file

    @Option(help: "Base URL of the Pivotal server.")
    var url: String?

    @Option(name: .customLong("application-uuid"), help: "Id of the application on the Pivotal server.")
    var applicationUUID: String?

    @Option(help: "API key of the application on the Pivotal server.")
    var sourceAPIKey: String?

    @Option(
        name: .customLong("platform"),
        help:
            "UUID:SECRET of a platform on the Pivotal server, to read tags and custom user ids (repeatable)."
    )
    var platforms: [String] = []

    @Flag(help: "Do not import the topics of a Pivotal server that cannot list their devices.")
    var withoutTopics = false

    @Option(help: "Environment of iOS devices without one: production or sandbox.")
    var environment: DeviceEnvironment?

    @Option(help: "File that records the progress, so that the import can be resumed.", completion: .file())
    var resumeFile: String?

    @Option(help: "File for refused devices, as JSON lines.", completion: .file())
    var errors: String?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try checkFiles()
        switch from {
        case .file:
            try checkOptions()
            guard let file else { throw CommandFailure.usage("give a file, or - for standard input") }
            let source = try FileSource(file, .chosen(format, file: file), environment: environment?.rawValue)
            try await run(source, unit: "line", client: try options.client())
        case .pivotal: try await runPivotal()
        }
    }

    /// - Throws: `usage` when an option is only for another source than a file.
    private func checkOptions() throws(CommandFailure) {
        let foreign = [
            ("--url", url != nil), ("--application-uuid", applicationUUID != nil),
            ("--source-api-key", sourceAPIKey != nil), ("--platform", !platforms.isEmpty),
            ("--without-topics", withoutTopics),
        ]
        if let (option, _) = foreign.first(where: { $0.1 }) { throw .usage("\(option) needs --from pivotal") }
    }

    /// - Throws: `usage` when a file would be written that is read, or that is written for another purpose.
    private func checkFiles() throws(CommandFailure) {
        let input = file == "-" ? FileStatus.standardInput : file.flatMap { FileStatus($0) }
        for (option, path) in [("--errors", errors), ("--resume-file", resumeFile)] {
            guard let path, let input, let output = FileStatus(path), input.isSameFile(as: output) else { continue }
            throw .usage("\(option) \(path) is the input; give another file")
        }
        if let errors, let resumeFile, FileStatus.isSameFile(errors, resumeFile) {
            throw .usage("--errors and --resume-file are the same file")
        }
    }

    private func runPivotal() async throws {
        let (pivotal, client) = try pivotal()
        let logins = try platforms.map { text throws(CommandFailure) in
            guard let login = PivotalLogin(text) else { throw .usage("\(text) is not a valid UUID:SECRET") }
            return login
        }
        let source = PivotalSource(
            pivotal, application: applicationUUID ?? "", platforms: logins, environment: environment?.rawValue)
        try await run(source, unit: "registration", client: client) { resume, progress in
            guard !withoutTopics, !client.isDryRun else { return nil }
            let topics = PivotalTopicImport(source: pivotal, target: client, app: try app.id(), resume: resume)
            return try await topics.run(withDevices: logins.isEmpty, &progress)
        }
    }

    private func pivotal() throws(CommandFailure) -> (PivotalClient, APIClient) {
        guard file == nil else { throw .usage("give a file or --from pivotal, not both") }
        guard let url, let applicationUUID else { throw .usage("--from pivotal needs --url and --application-uuid") }
        guard let secret = sourceAPIKey ?? options.apiKey else {
            throw .usage("--from pivotal needs the application's --api-key")
        }
        var own = options
        if sourceAPIKey == nil { own.apiKey = nil }
        let pivotal = try PivotalClient(url: url, login: PivotalLogin(uuid: applicationUUID, secret: secret))
        return (pivotal, try own.client())
    }

    /// - Parameter topics: imports the topics after the devices.
    private func run(
        _ source: some ImportSource, unit: String, client: APIClient,
        topics: (ResumeFile?, inout Progress) async throws -> PivotalTopicImport.Summary? = { _, _ in nil }
    ) async throws {
        var source = source
        var progress = Progress(Surroundings.current.time)
        let id = try app.id()
        let name = source.name
        var resume = resumeFile.map { ResumeFile(path: $0, source: name, server: client.base, app: id) }
        try resume?.begin(isDryRun: client.isDryRun)
        let importer = Importer(
            client: client, path: APIPath(["apps", id, "devices"], verb: ":batch"), resume: resume,
            run: resume?.run ?? ResumeFile.newRun(),
            errors: try errors.map { path throws(CommandFailure) in try ImportRefusal.file(path) }, unit: unit)
        let summary = try await importer.run(&source, &progress)
        let made = try await topics(resume, &progress)
        options.show(
            summary.json.merging(
                .compact([
                    ("topics", made.map { .integer($0.topics) }),
                    ("refused_topics", made.flatMap { $0.refused == 0 ? nil : .integer($0.refused) }),
                    ("subscriptions", made.map { .integer($0.subscriptions + summary.subscriptions) }),
                ])))
        guard summary.refused == 0 else {
            throw CommandFailure.refused(
                "\(Self.share(summary.refused, of: summary.devices + summary.refused, "device")) refused")
        }
        if let made, made.refused > 0 {
            throw CommandFailure.refused("\(Self.share(made.refused, of: made.topics, "topic")) refused")
        }
    }

    /// `1 of 2 devices was`, `2 of 2 devices were`.
    private static func share(_ part: Int, of whole: Int, _ noun: String) -> String {
        "\(part) of \(Spelling.counted(whole, noun)) \(part == 1 ? "was" : "were")"
    }
}
