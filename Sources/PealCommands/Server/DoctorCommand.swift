internal import ArgumentParser
internal import PealCore
internal import PealServer

/// `peal doctor`: looks at everything that a server needs, and says what is wrong. It makes, changes and sends nothing.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check configuration, files, store, credentials and the way to the push networks.",
        discussion: """
            Takes the options and the environment of serve. Where a running server has the store, that server is asked \
            for the credentials. Ends with 0 when nothing failed, with 1 otherwise; warnings fail nothing.
            """)

    @Flag(help: "Do not connect to the push networks.")
    var offline = false

    @OptionGroup var server: ServerOptions
    @OptionGroup var client: ClientOptions

    func run() async throws {
        var diagnosis = Diagnosis()
        if let configuration = await load(&diagnosis) {
            let doctor = Doctor(configuration)
            await doctor.examine(&diagnosis)
            if diagnosis.isStoreInUse {
                await RunningServerCheck(options: client, configuration: configuration, now: doctor.now).run(&diagnosis)
            }
            if !offline { await doctor.reach(&diagnosis) }
        }
        Surroundings.current.print(client.json ? diagnosis.json.text : diagnosis.lines)
        let count = diagnosis.checks.count { $0.state == .failed }
        guard count == 0 else {
            throw CommandFailure.failed("peal: \(count) \(count == 1 ? "check" : "checks") failed")
        }
    }

    private func load(_ diagnosis: inout Diagnosis) async -> ServerConfiguration? {
        do {
            let configuration = try await server.load()
            diagnosis.add(.ok, "configuration", "every key can be used")
            return configuration
        } catch {
            diagnosis.add(.failed, "configuration", "\(error)".replacing("peal: ", with: "", maxReplacements: 1))
            return nil
        }
    }
}

extension Diagnosis {
    /// `{"state", "checks": [{"state", "subject", "detail"}]}`.
    fileprivate var json: JSON {
        let checks = checks.map { check -> JSON in
            [
                "state": .string(check.state.rawValue), "subject": .string(check.subject),
                "detail": .string(check.detail),
            ]
        }
        return ["state": .string(state.rawValue), "checks": .array(checks)]
    }

    /// One line a check: state, what was looked at, what was seen.
    fileprivate var lines: String {
        Table.aligned(checks.map { [$0.state.rawValue, $0.subject, $0.detail] })
    }
}
