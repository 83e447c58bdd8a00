internal import HTTPTypes
internal import PealCore
internal import PealShapes

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
        let suffix = provider.network.title
        let path = "\(app)/credentials/\(provider.rawValue)" + (provider.hasEnvironments ? "/:environment" : "")
        return [
            APIOperation(
                id: "put\(suffix)Credential", method: .put, path: path, summary: "Store the credential for \(suffix)",
                text: provider.network.credentials.keepsEarlierKeys
                    ? "Earlier keys remain." : "Replaces the earlier credential immediately.",
                body: APIBody(schema: NativeCredentialShape(provider.network).shape.describe(strict)),
                answers: [APIAnswer(200, "The credential, without its secrets.", credentialSchema)],
                refusals: [.conflict]),
            APIOperation(
                id: "delete\(suffix)Credential", method: .delete, path: path,
                summary: "Delete the credential for \(suffix)", answers: [APIAnswer(204, "Deleted.")],
                refusals: [.notFound]),
            APIOperation(
                id: "verify\(suffix)Credential", method: .post, path: "\(path)/verify",
                summary: "Verify the credential with a harmless request to \(suffix)",
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
