internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// The credentials of apps for the push networks: put, list, verify and delete. Secrets are never returned.
struct NativeCredentials: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        let path = "\(app)/credentials"
        let paths = ProviderName.allCases.map { $0.hasEnvironments ? "\(path)/\($0)/:environment" : "\(path)/\($0)" }
        return [
            Endpoint(.get, path, .app(.manage), list)
        ]
            + ProviderName.allCases.filter(\.network.credentials.keepsEarlierKeys).map { provider in
                Endpoint(.delete, "\(path)/\(provider)/:fingerprint", .app(.manage)) { call in
                    try await deleteKey(call, provider)
                }
            }
            + zip(ProviderName.allCases, paths).flatMap { provider, path in
                let form = NativeCredentialShape(provider.network)
                return [
                    Endpoint(.put, path, .app(.manage)) { call in try await put(call, provider, form) },
                    Endpoint(.delete, path, .app(.manage)) { call in try await delete(call, provider) },
                    Endpoint(.post, "\(path)/verify", .app(.manage)) { call in try await verify(call, provider) },
                ]
            }
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .number)
        let app = try call.app().key
        let (records, isComplete) = try await services.store.checkedList { store, _ in
            try store.credentialRecords(app: app)
        }
        let items = records.flatMap { CredentialItem.items($0) }
        let fetched = Array(Array(items.enumerated()).dropFirst(Int(list.number ?? 0)).prefix(list.fetchCount))
        return list.answer(
            fetched, isComplete: isComplete, cursor: { NativeList.bytes($0.offset + 1) },
            json: { $0.element.json(now: call.now) })
    }

    /// Answers with the credential as lists show it; for Web Push, with the key that was put.
    private func put(
        _ call: Call, _ provider: ProviderName, _ form: NativeCredentialShape
    ) async throws -> Answer {
        let target = try target(call, provider)
        let credential = try form.shape.value(of: try call.object(), .native, now: call.now)
        let record: CredentialRecord
        do {
            record = try await services.verbs.credentials.put(credential, at: target, call.verb)
        } catch let error as PealError {
            throw form.prefixed(error)
        }
        return Answer(.ok, CredentialItem.newest(record).json(now: call.now))
    }

    private func delete(_ call: Call, _ provider: ProviderName) async throws -> Answer {
        try await services.verbs.credentials.delete(at: try target(call, provider), call.verb)
        return Answer(.noContent)
    }

    private func deleteKey(_ call: Call, _ provider: ProviderName) async throws -> Answer {
        let target = try target(call, provider)
        try await services.verbs.credentials.deleteKey(call.parameter("fingerprint"), at: target, call.verb)
        return Answer(.noContent)
    }

    private func verify(_ call: Call, _ provider: ProviderName) async throws -> Answer {
        let reply = try await services.verbs.credentials.verify(at: try target(call, provider), call.verb) {
            verification in
            Reply(status: 200, Self.json(verification))
        }
        return Answer(reply)
    }

    /// `ok` is null if the provider's answer does not show whether the credential is valid.
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

    /// - Throws: `not_found` for an unknown environment.
    private func target(_ call: Call, _ provider: ProviderName) throws(PealError) -> CredentialSlot {
        let app = try call.app().key
        guard provider.hasEnvironments else { return .init(app: app, provider: provider, environment: .production) }
        guard let environment = Environment(alias: call.parameter("environment")) else {
            throw .notFound("environment")
        }
        return .init(app: app, provider: provider, environment: environment)
    }
}

/// One item in a list of credentials: a record, or one VAPID key of a Web Push record.
struct CredentialItem {
    let record: CredentialRecord
    /// The members that only this item has.
    private let own: JSON.Members

    /// One item for each record, or one for each key of a Web Push record, oldest first.
    static func items(_ record: CredentialRecord) -> [CredentialItem] {
        guard record.provider.network.credentials.keepsEarlierKeys, let keys = record.facts["keys"]?.arrayValue,
            !keys.isEmpty
        else {
            return [CredentialItem(record: record, own: record.facts)]
        }
        return keys.enumerated().map { index, key in
            var members = key.objectValue ?? .init()
            if index == keys.count - 1 { members["newest"] = true }
            return CredentialItem(record: record, own: members)
        }
    }

    /// The item of the credential or key that was put last.
    static func newest(_ record: CredentialRecord) -> CredentialItem {
        items(record).last ?? CredentialItem(record: record, own: record.facts)
    }

    func json(now: Timestamp) -> JSON {
        var members = JSON.Members([("provider", .string(record.provider.rawValue))])
        if record.provider.hasEnvironments { members["environment"] = .string(record.environment.rawValue) }
        members["kind"] = .string(record.kind)
        members["fingerprint"] = .string(record.fingerprint)
        for (name, value) in own.pairs { members[name] = value }
        if members["created_at"] == nil { members["created_at"] = .string(record.createdAt.description) }
        members["expires_at"] = record.expiresAt.map { .string($0.description) } ?? .null
        members["warning"] = record.warning(at: now).map(JSON.string)
        members["health"] = Self.json(record.health)
        return .object(members)
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

extension NativeDocument {
    static let credentials: [APIOperation] =
        [
            APIOperation(
                id: "listCredentials", method: .get, path: "\(app)/credentials",
                summary: "List credentials, without their secrets", parameters: page(.number),
                answers: [list(of: "NativeCredential", credentialSchema)]),
            APIOperation(
                id: "deleteVAPIDKey", method: .delete, path: "\(app)/credentials/webpush/:fingerprint",
                summary: "Delete one VAPID key", answers: [APIAnswer(204, "Deleted.")],
                // `verify` is not a fingerprint.
                refusals: [.methodNotAllowed]),
        ]
        + ProviderName.allCases.flatMap(operations)

    private static func operations(_ provider: ProviderName) -> [APIOperation] {
        let (title, suffix) = (provider.network.title, provider.network.titleInNames)
        let path = "\(app)/credentials/\(provider.rawValue)" + (provider.hasEnvironments ? "/:environment" : "")
        return [
            APIOperation(
                id: "put\(suffix)Credential", method: .put, path: path, summary: "Store the credential for \(title)",
                text: provider.network.credentials.keepsEarlierKeys
                    ? "Earlier keys remain." : "Replaces the earlier credential immediately.",
                body: APIBody(schema: NativeCredentialShape(provider.network).shape.describe(strict)),
                answers: [APIAnswer(200, "The credential, without its secrets.", credentialSchema)],
                refusals: [.conflict]),
            APIOperation(
                id: "delete\(suffix)Credential", method: .delete, path: path,
                summary: "Delete the credential for \(title)", answers: [APIAnswer(204, "Deleted.")],
                refusals: [.notFound]),
            APIOperation(
                id: "verify\(suffix)Credential", method: .post, path: "\(path)/verify",
                summary: "Verify the credential with a harmless request to \(title)",
                answers: [APIAnswer(200, "The network's answer.", verification)], refusals: [.notFound]),
        ]
    }

    private static let credentialSchema = Schema.component(
        "NativeCredential",
        .object([
            .required("provider", .component("NativeProvider", .words(ProviderName.allCases.map(\.rawValue)))),
            .optional("environment", shownEnvironment),
            .required("kind", .text), .required("fingerprint", .text), .required("created_at", .time),
            .required("expires_at", Schema.time.orNull), .optional("warning", .text),
            .required(
                "health",
                .component(
                    "NativeCredentialHealth",
                    .object([
                        .required("state", .component("NativeHealthState", .words(["unknown", "ok", "stopped"]))),
                        .optional("at", .time), .optional("reason", .text),
                    ]))),
            .optional("public_key", .text), .optional("newest", .flag),
        ]))

    private static let verification = Schema.component(
        "NativeVerification",
        .object([
            .required(
                "result",
                .component(
                    "NativeVerificationResult", .words(["accepted", "refused", "unreachable", "unverifiable"]))),
            .required("ok", Schema.flag.orNull), .required("status", Schema.integer.orNull),
            .required("reason", Schema.text.orNull), .required("detail", .text),
        ]))
}
