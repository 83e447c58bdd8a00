internal import HTTPTypes
internal import PealCore

/// What apps show the push networks: put, told of, removed; the secrets are never told.
struct NativeCredentials: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.get, "\(app)/credentials", .app(.manage), list),
            Endpoint(.put, "\(app)/credentials/:provider", .app(.manage), put),
            Endpoint(.put, "\(app)/credentials/:provider/:environment", .app(.manage), put),
            Endpoint(.delete, "\(app)/credentials/:provider", .app(.manage), delete),
            Endpoint(.delete, "\(app)/credentials/:provider/:environment", .app(.manage), delete),
            Endpoint(.post, "\(app)/credentials/:provider/verify", .app(.manage), verify),
            Endpoint(.post, "\(app)/credentials/:provider/:environment/verify", .app(.manage), verify),
        ]
    }

    private func list(_ call: Call) async throws -> Answer {
        let key = try call.app().key
        let records = try await services.store.read { try $0.credentialRecords(app: key) }
        return Answer(.ok, ["items": .array(records.map(Self.json)), "next_cursor": .null])
    }

    private func put(_ call: Call) async throws -> Answer {
        let (provider, environment) = try place(call)
        guard provider == .apns else {
            throw PealError.unsupported("provider", "\(provider.rawValue) is not supported yet")
        }
        let fields = try Fields(try call.object())
        let kind = try fields.requiredText("kind")
        guard kind == "token" else {
            guard ["certificate", "p12"].contains(kind) else {
                throw PealError.invalid("kind", "kind must be token, certificate or p12")
            }
            throw PealError.unsupported("kind", "kind \(kind) is not supported yet")
        }
        let credential = Credential.APNsToken(
            keyID: try Self.word(fields, "key_id"), teamID: try Self.word(fields, "team_id"),
            privateKey: try Self.pem(fields, "private_key"), bundleID: try Self.word(fields, "bundle_id"))
        let place = CredentialVerbs.Place(
            app: try call.app().key, provider: provider, environment: environment)
        let record = try await services.credentials.put(.apnsToken(credential), at: place, call.verb)
        return Answer(.ok, Self.json(record))
    }

    private func delete(_ call: Call) async throws -> Answer {
        let (provider, environment) = try place(call)
        let place = CredentialVerbs.Place(
            app: try call.app().key, provider: provider, environment: environment)
        try await services.credentials.delete(at: place, call.verb)
        return Answer(.noContent)
    }

    private func verify(_ call: Call) async throws -> Answer {
        _ = try place(call)
        throw PealError.unsupported("path", "verifying a credential is not supported yet")
    }

    /// - Throws: `not_found` for a network or an environment that there is not.
    private func place(_ call: Call) throws(PealError) -> (ProviderName, Environment) {
        guard let provider = ProviderName(rawValue: call.parameter("provider")) else { throw .notFound("provider") }
        guard let name = call.parameters["environment"] else {
            guard provider != .apns else {
                throw .missing("environment")
            }
            return (provider, .production)
        }
        guard provider == .apns, let environment = Environment(alias: name) else { throw .notFound("environment") }
        return (provider, environment)
    }

    /// `[A-Za-z0-9._:-]{1,255}`: these stand in provider requests.
    private static func word(_ fields: Fields, _ name: String) throws(PealError) -> String {
        let text = try fields.requiredText(name)
        let isWord = text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "._:-".utf8.contains($0) }
        guard isWord else {
            throw .invalid(fields.path(name), "\(name) may hold letters, digits and . _ : - only")
        }
        return text
    }

    private static func pem(_ fields: Fields, _ name: String) throws(PealError) -> String {
        guard let text = try fields.freeText(name) else { throw .missing(fields.path(name)) }
        guard text.utf8.count <= Limits.privateKeyBytesMax else {
            throw .invalid(fields.path(name), "\(name) may be \(Limits.privateKeyBytesMax) bytes long at most")
        }
        return text
    }

    private static func json(_ record: CredentialRecord) -> JSON {
        var members: [(String, JSON?)] = [
            ("provider", .string(record.provider.rawValue)),
            ("environment", record.provider == .apns ? .string(record.environment.rawValue) : nil),
            ("kind", .string(record.kind)), ("fingerprint", .string(record.fingerprint)),
        ]
        members += record.facts.pairs.map { ($0, $1) }
        members += [
            ("created_at", .string(record.createdAt.description)),
            ("expires_at", record.expiresAt.map { .string($0.description) } ?? .null), ("health", json(record.health)),
        ]
        return .compact(members)
    }

    private static func json(_ health: CredentialRecord.Health) -> JSON {
        switch health {
        case .unknown: ["state": "unknown"]
        case .ok(let at): ["state": "ok", "at": .string(at.description)]
        case .stopped(let at, let reason):
            ["state": "stopped", "at": .string(at.description), "reason": .string(reason)]
        }
    }
}
