internal import PealCore
internal import PealServer

/// Asks the server that has the store what only it can tell.
struct RunningServerCheck {
    let options: ClientOptions
    let configuration: ServerConfiguration
    let now: Timestamp

    /// Adds how the server is, and every credential that the key may see.
    func run(_ diagnosis: inout Diagnosis) async {
        do {
            let client = try options.client(at: address, with: configuration.adminToken)
            let (status, document) = try await client.look(at: "/readyz")
            let failures = document["failures"]?.objectValue?.pairs.map { "\($0): \($1.stringValue ?? "")" } ?? []
            diagnosis.add(
                status == 200 ? .ok : .failed, "server",
                status == 200 ? "is ready" : "is not ready: " + failures.joined(separator: ", "))
            try await checkCredentials(client, &diagnosis)
        } catch let failure as CommandFailure {
            diagnosis.add(.warning, "server", "cannot be asked for its credentials: \(failure)")
        } catch {
            diagnosis.add(.warning, "server", "cannot be asked for its credentials: \(error)")
        }
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

    /// Where the configuration has the server listen; one that listens everywhere is found on loopback.
    private var address: String {
        let host =
            switch configuration.httpHost {
            case "0.0.0.0": "127.0.0.1"
            case "::": "[::1]"
            case let host where host.contains(":"): "[\(host)]"
            case let host: host
            }
        let bound = configuration.httpPortFile.flatMap(Surroundings.current.read).map {
            String(decoding: $0, as: UTF8.self).filter(\.isNumber)
        }
        let port = bound.flatMap { $0.isEmpty ? nil : $0 } ?? String(configuration.httpPort)
        return "\(configuration.httpTLS == nil ? "http" : "https")://\(host):\(port)"
    }
}

extension CredentialRecord {
    /// An item of `GET …/credentials`; nil for what is none.
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
