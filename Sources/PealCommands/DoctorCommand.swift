internal import ArgumentParser
internal import PealCore
internal import PealServer

/// `peal doctor`: checks everything that a server needs. It creates, changes and sends nothing.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check configuration, files, store, credentials and connections to the push networks.",
        discussion: """
            Takes the options and the environment of serve. If a running server uses the store, the credentials are \
            read through its API. Exit codes: 0 no check failed (there may be warnings), 1 a check failed.
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
            var used = configuration
            if diagnosis.isStoreInUse {
                let check = RunningServerCheck(options: client, configuration: configuration, now: doctor.now)
                if let known = await check.run(&diagnosis) { used = await asUsed(known, &diagnosis) ?? configuration }
            }
            if !offline { await Doctor(used).reach(&diagnosis) }
        }
        Surroundings.current.print(client.json ? diagnosis.json.text : diagnosis.lines)
        let count = diagnosis.checks.count { $0.state == .failed }
        guard count == 0 else {
            throw CommandFailure.failed("peal: \(Spelling.counted(count, "check")) failed")
        }
    }

    /// The configuration of the running server, which may have other variables and files than this shell.
    private func asUsed(_ known: [String: String], _ diagnosis: inout Diagnosis) async -> ServerConfiguration? {
        let environment = Surroundings.current.environment.filter { !$0.key.hasPrefix("PEAL_") || known[$0.key] != nil }
        guard
            let used = try? await ServerConfiguration.load(
                arguments: [], environment: environment.merging(known) { $1 })
        else { return nil }
        diagnosis.add(.ok, "networks", "checked as the running server is configured")
        return used
    }

    private func load(_ diagnosis: inout Diagnosis) async -> ServerConfiguration? {
        do {
            let configuration = try await server.configuration()
            diagnosis.add(.ok, "configuration", "valid")
            return configuration
        } catch {
            diagnosis.add(.failed, "configuration", "\(error)")
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

    /// One line per check: state, subject, detail.
    fileprivate var lines: String {
        Table.aligned(checks.map { [$0.state.rawValue, $0.subject, $0.detail] })
    }
}

/// Checks through the API what only the running server knows.
struct RunningServerCheck {
    let options: ClientOptions
    let configuration: ServerConfiguration
    let now: Timestamp

    /// Adds the state of the server, and the credentials that the API key can read.
    /// - Returns: the server's configuration; nil if the key may not see it.
    func run(_ diagnosis: inout Diagnosis) async -> [String: String]? {
        var known: [String: String]?
        do {
            let client = try options.client(at: address, with: configuration.adminToken)
            let (status, document) = try await client.look(at: "/readyz")
            diagnosis.add(
                status == 200 ? .ok : .failed, "server",
                status == 200 ? "ready" : "not ready: \(Self.failures(document))")
            known = document["configuration"]?.objectValue.map { members in
                Dictionary(members.pairs.compactMap { name, value in value.stringValue.map { (name, $0) } }) { $1 }
            }
            try await checkCredentials(client, &diagnosis)
        } catch let failure as CommandFailure {
            diagnosis.add(.warning, "server", "cannot read its credentials: \(failure)")
        } catch {
            diagnosis.add(.warning, "server", "cannot read its credentials: \(error)")
        }
        return known
    }

    /// The subsystems that do not work; only an admin's key sees why.
    static func failures(_ document: JSON) -> String {
        let states = document["subsystems"]?.objectValue.map { Array($0.pairs) } ?? []
        return states.filter { $0.1 != "ok" }.map { name, _ in
            document["failures"]?[name]?.stringValue.map { "\(name): \($0)" } ?? name
        }.joined(separator: ", ")
    }

    private func checkCredentials(_ client: APIClient, _ diagnosis: inout Diagnosis) async throws {
        let apps = try await client.list(APIPath(["apps"]), limit: .max)["items"]?.arrayValue ?? []
        for app in apps {
            let id = app["id"]?.stringValue ?? ""
            let path = APIPath(["apps", id, "credentials"])
            let items = try await client.list(path, limit: .max)["items"]?.arrayValue ?? []
            diagnosis.add(
                items.compactMap(CredentialRecord.init), app: "\(app["name"]?.stringValue ?? "") (\(id))", now: now)
        }
        diagnosis.endCredentials()
    }

    /// The address of the server according to the configuration.
    private var address: String {
        let bound = configuration.http.portFile.flatMap(Surroundings.current.read).map {
            String(decoding: $0, as: UTF8.self).filter(\.isNumber)
        }
        let port = bound.flatMap { $0.isEmpty ? nil : $0 } ?? String(configuration.http.port)
        let authority = ClientOptions.authority(configuration.http.host, port)
        return "\(configuration.http.tls == nil ? "http" : "https")://\(authority)"
    }
}

extension CredentialRecord {
    /// Reads an item of `GET …/credentials`; nil when it is not a credential.
    fileprivate init?(_ item: JSON) {
        guard let provider = item["provider"]?.stringValue.flatMap(ProviderName.init(rawValue:)) else { return nil }
        let time = { (json: JSON?) in json?.stringValue.flatMap { Timestamp(rfc3339: $0) } }
        let health = item["health"]
        let environment = item["environment"]?.stringValue.flatMap(Environment.init(rawValue:))
        let at = time(health?["at"]) ?? Timestamp(milliseconds: 0)
        self.init(
            provider: provider, environment: environment ?? .production, kind: item["kind"]?.stringValue ?? "",
            fingerprint: item["fingerprint"]?.stringValue ?? "", facts: .init(),
            createdAt: time(item["created_at"]) ?? at, expiresAt: time(item["expires_at"]),
            health: health?["state"] == "stopped"
                ? .stopped(at: at, reason: health?["reason"]?.stringValue ?? "") : .unknown)
    }
}
