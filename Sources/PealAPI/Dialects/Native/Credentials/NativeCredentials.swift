internal import HTTPTypes
internal import PealCore

/// What apps show the push networks: put, told of, tried, removed; the secrets are never told.
struct NativeCredentials: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        let path = "\(app)/credentials"
        return [
            Endpoint(.get, path, .app(.manage), list),
            Endpoint(.put, "\(path)/:provider", .app(.manage), put),
            Endpoint(.put, "\(path)/:provider/:part", .app(.manage), put),
            Endpoint(.delete, "\(path)/:provider", .app(.manage), delete),
            Endpoint(.delete, "\(path)/:provider/:part", .app(.manage), delete),
            Endpoint(.post, "\(path)/:provider/verify", .app(.manage), verify),
            Endpoint(.post, "\(path)/:provider/:part/verify", .app(.manage), verify),
        ]
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query)
        let start = try list.cursor { text in Int(text).flatMap { $0 >= 0 ? $0 : nil } } ?? 0
        let records = try await services.credentialRecords(try call.app())
        let items = records.flatMap { CredentialItem.items($0) }
        let fetched = Array(Array(items.enumerated()).dropFirst(start).prefix(list.fetchCount))
        return list.answer(fetched, cursor: { String($0.offset + 1) }, json: { $0.element.json(now: call.now) })
    }

    /// Answers with what lists will show of the credential; of Web Push, of the key that was put.
    private func put(_ call: Call) async throws -> Answer {
        let place = try place(call)
        let reader = CredentialReader(provider: place.provider)
        let credential = try reader.credential(try Fields(try call.object()), now: call.now)
        let record: CredentialRecord
        do {
            record = try await services.credentials.put(credential, at: place, call.verb)
        } catch let error as PealError {
            throw reader.placed(error)
        }
        return Answer(.ok, CredentialItem.newest(record).json(now: call.now))
    }

    private func delete(_ call: Call) async throws -> Answer {
        if call.parameter("provider") == ProviderName.webpush.rawValue, let fingerprint = call.parameters["part"] {
            let place = CredentialVerbs.Place(
                app: try call.app().key, provider: .webpush, environment: .production)
            try await services.credentials.deleteVAPIDKey(fingerprint, at: place, call.verb)
        } else {
            try await services.credentials.delete(at: try place(call), call.verb)
        }
        return Answer(.noContent)
    }

    private func verify(_ call: Call) async throws -> Answer {
        let reply = try await services.credentials.verify(at: try place(call), call.verb) { verification in
            Reply(status: 200, Self.json(verification))
        }
        return Answer(reply)
    }

    /// `ok` is null where the provider said nothing of the credential.
    private static func json(_ verification: CredentialVerification) -> JSON {
        let isGood: JSON =
            switch verification.result {
            case .accepted: true
            case .refused: false
            case .unreachable, .unverifiable: .null
            }
        return [
            "result": .string(verification.result.rawValue), "ok": isGood,
            "status": verification.status > 0 ? .integer(verification.status) : .null,
            "reason": verification.reason.isEmpty ? .null : .string(verification.reason),
            "detail": .string(verification.detail),
        ]
    }

    /// - Throws: `not_found` for a network or an environment that there is not; `missing_field` for APNs without one.
    private func place(_ call: Call) throws(PealError) -> CredentialVerbs.Place {
        let app = try call.app().key
        guard let provider = ProviderName(rawValue: call.parameter("provider")) else { throw .notFound("provider") }
        guard let name = call.parameters["part"] else {
            guard provider != .apns else { throw .missing("environment") }
            return .init(app: app, provider: provider, environment: .production)
        }
        guard provider == .apns, let environment = Environment(alias: name) else { throw .notFound("environment") }
        return .init(app: app, provider: provider, environment: environment)
    }
}
