internal import ArgumentParser
internal import PealCore

/// `peal import`: registers the devices of a file or of a live Pivotal server.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Register devices from a file or from a live Pivotal server.",
        discussion: """
            A file is CSV with a header, or one JSON object a line, with the members of a device in the native API. \
            Devices that are refused are told with their line, all others are kept.
            With --from pivotal, --api-key is the Pivotal application's, and Peal's comes from PEAL_API_KEY or \
            PEAL_ADMIN_TOKEN; give --source-api-key, and --api-key is Peal's as always.
            Exit codes: 0 all devices are in, 1 some were refused or the import broke off, 2 wrong usage, 3 no server.
            """)

    /// What is imported from.
    enum Origin: String, CaseIterable, ExpressibleByArgument {
        case file
        case pivotal
    }

    @Argument(help: "File with devices, - for standard input.")
    var file: String?

    @Option(help: "csv or jsonl; otherwise a name that ends in .csv is CSV.")
    var format: DeviceFormat?

    @Option(help: "file or pivotal.")
    var from = Origin.file

    @Option(help: "Base URL of the Pivotal server.")
    var url: String?

    @Option(name: .customLong("application-uuid"), help: "Id of the application on the Pivotal server.")
    var applicationUUID: String?

    @Option(help: "API key of the application on the Pivotal server, beside --api-key.")
    var sourceAPIKey: String?

    @Option(
        name: .customLong("platform"),
        help: "UUID:SECRET of a platform on the Pivotal server: its devices are asked for tags and custom user ids.")
    var platforms: [String] = []

    @Option(help: "production or sandbox: of iOS devices that name neither.")
    var environment: String?

    @Option(help: "Remembers here what is done, and goes on from there.")
    var resumeFile: String?

    @Option(help: "Writes a line of JSON here for each device that is refused.")
    var errors: String?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        switch from {
        case .file:
            guard let file else { throw CommandFailure.usage("name a file, or - for standard input") }
            let source = try FileSource(file, .chosen(format, file: file), environment: environment)
            try await run(source, unit: "line", client: try options.client())
        case .pivotal: try await runPivotal()
        }
    }

    private func runPivotal() async throws {
        let (pivotal, client) = try pivotal()
        let logins = try platforms.map { text throws(CommandFailure) in
            guard let login = PivotalLogin(text) else { throw .usage("\(text) is not UUID:SECRET of a platform") }
            return login
        }
        let source = PivotalSource(
            pivotal, application: applicationUUID ?? "", platforms: logins, environment: environment)
        try await run(source, unit: "registration", client: client) { resume, progress in
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

    /// - Parameter topics: what is left to do once the devices are in.
    private func run(
        _ source: some ImportSource, unit: String, client: APIClient,
        topics: (ResumeFile?, inout Progress) async throws -> PivotalTopicImport.Summary? = { _, _ in nil }
    ) async throws {
        var source = source
        var progress = Progress(Surroundings.current.time)
        let resume = resumeFile.map { ResumeFile(path: $0, source: source.name) }
        let isResumed = try (resume?.done() ?? 0) > 0
        let importer = Importer(
            client: client, path: APIPath(["apps", try app.id(), "devices"], verb: ":batch"), resume: resume,
            errors: try errors.map { path throws(CommandFailure) in try OutputFile(path, isContinued: isResumed) },
            unit: unit)
        let summary = try await importer.run(&source, &progress)
        let made = try await topics(resume, &progress)
        options.show(
            summary.json.merging(
                .compact([
                    ("topics", made.map { .integer($0.topics) }),
                    ("subscriptions", made.map { .integer($0.subscriptions) }),
                ])))
        guard summary.refused == 0 else {
            throw CommandFailure.refused("\(summary.refused) of \(summary.devices + summary.refused) were refused")
        }
    }
}
