internal import HTTPTypes
internal import PealCore
internal import PealShapes

extension NativeDocument {
    static let credentials: [APIOperation] =
        [
            APIOperation(
                id: "listCredentials", method: .get, path: "\(app)/credentials",
                summary: "List credentials, without their secrets", parameters: page(.number),
                answers: [list(of: "NativeCredential", told)]),
            APIOperation(
                id: "deleteVAPIDKey", method: .delete, path: "\(app)/credentials/webpush/:fingerprint",
                summary: "Delete one VAPID key", answers: [APIAnswer(204, "It is gone.")],
                // `verify` is not a fingerprint.
                refusals: [.methodNotAllowed]),
        ]
        + ProviderName.allCases.flatMap(place)

    private static func place(_ provider: ProviderName) -> [APIOperation] {
        let suffix = provider.network.title
        let path = "\(app)/credentials/\(provider.rawValue)" + (provider.hasEnvironments ? "/:environment" : "")
        return [
            APIOperation(
                id: "put\(suffix)Credential", method: .put, path: path, summary: "Put the credential for \(suffix)",
                text: provider.network.credentials.keepsEarlierKeys
                    ? "The key joins earlier ones." : "It replaces the earlier one at once.",
                body: APIBody(schema: .named("Native\(suffix)Credential")),
                answers: [APIAnswer(200, "The credential, without its secrets.", told)],
                refusals: [.conflict]),
            APIOperation(
                id: "delete\(suffix)Credential", method: .delete, path: path,
                summary: "Delete the credential for \(suffix)", answers: [APIAnswer(204, "It is gone.")],
                refusals: [.notFound]),
            APIOperation(
                id: "verify\(suffix)Credential", method: .post, path: "\(path)/verify",
                summary: "Ask \(suffix) with something harmless",
                answers: [APIAnswer(200, "What it answered.", verification)], refusals: [.notFound]),
        ]
    }

    static var credentialSchemas: [(name: String, schema: Schema)] { builtInCredentials + furtherCredentials }

    private static let builtInCredentials: [(name: String, schema: Schema)] = [
        ("NativeAPNsCredential", apns), ("NativeFCMCredential", fcm), ("NativeWNSCredential", wns),
        ("NativeMPNSCredential", mpns), ("NativeWebPushCredential", webPush),
    ]

    /// Describes networks that are not built in by their forms alone.
    private static var furtherCredentials: [(name: String, schema: Schema)] {
        Networks.all.dropFirst(Networks.builtIn.count).map { network in
            (name: "Native\(network.title)Credential", schema: describe(network.credentials))
        }
    }

    /// Describes a network's credential by its form.
    private static func describe(_ form: CredentialForm) -> Schema {
        let kinds = form.kinds.map { kind in
            var members = kind.members.map { member -> Property in
                member.isRequired
                    ? .required(member.name, describe(member.value)) : .nullable(member.name, describe(member.value))
            }
            if case .named(let name) = form.choice { members.insert(.required(name, .word(kind.name)), at: 0) }
            return Schema.object(members)
        }
        let schema = kinds.count == 1 ? kinds[0] : .one(of: kinds)
        return form.object.map { .object([.required($0, schema)]) } ?? schema
    }

    private static func describe(_ value: CredentialForm.Value) -> Schema {
        switch value {
        case .text: .printable(1...Limits.nameCharactersMax)
        case .word(let extra): word(extra)
        case .secret: secret
        case .lines(let bytesMax): .text(1...bytesMax, pattern: #"[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*"#)
        case .pem(let bytesMax): pem(bytesMax)
        case .archive(let charactersMax): .text(1...charactersMax, pattern: #"[A-Za-z0-9+/=_\r\n-]+"#)
        case .contact: .text(1...Limits.vapidSubjectCharactersMax, pattern: contact)
        case .constant(let text): .word(text)
        }
    }

    /// A word that appears in requests to providers.
    private static func word(_ more: String = "") -> Schema {
        .text(1...Limits.nameCharactersMax, pattern: "[A-Za-z0-9._:\(more)-]+")
    }

    /// Contains at least one letter or digit, because it becomes a segment of a URL's path.
    private static let identifier = Schema.text(
        1...Limits.nameCharactersMax, pattern: "[._:-]*[A-Za-z0-9][A-Za-z0-9._:-]*")

    private static let secret = Schema.text(1...Limits.secretBytesMax, pattern: "[ -~]+")

    /// PEM (RFC 7468).
    private static func pem(_ charactersMax: Int) -> Schema {
        Schema.text(1...charactersMax, pattern: #"[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*"#).with(
            "pattern", #"^[\t\n\r -~]*-----BEGIN [\t\n\r -~]*$"#)
    }

    private static let key = pem(Limits.privateKeyBytesMax)
    private static let chain = pem(Limits.certificatesBytesMax)

    private static let apns = Schema.one(of: [
        .component(
            "NativeAPNsToken",
            .object([
                .required("kind", .word("token")), .required("key_id", word()), .required("team_id", word()),
                .required("private_key", key), .required("bundle_id", word()),
            ])),
        .component(
            "NativeAPNsCertificate",
            .object([
                .required("kind", .word("certificate")), .required("certificate", chain),
                .required("private_key", key), .required("bundle_id", word()),
            ])),
        .component(
            "NativeAPNsArchive",
            .object([
                .required("kind", .word("p12")),
                .required("data", .text(1...Limits.archiveCharactersMax, pattern: #"[A-Za-z0-9+/=_\r\n-]+"#)),
                .nullable("passphrase", .printable(0...Limits.secretBytesMax)), .required("bundle_id", word()),
            ])),
    ])

    private static let fcm = Schema.object([
        .required(
            "service_account",
            .component(
                "NativeServiceAccount",
                .object([
                    .nullable("type", .text(pattern: "service_account")), .required("project_id", word()),
                    .required(
                        "client_email",
                        .text(1...Limits.nameCharactersMax, pattern: "[A-Za-z0-9._:-]*@[A-Za-z0-9._:@-]*")),
                    .nullable("private_key_id", word()),
                    .required("private_key", key), .required("token_uri", .printable(1...Limits.nameCharactersMax)),
                ]).described("Google's JSON file as an object.")))
    ])

    private static let wns = Schema.object([
        .nullable(
            "package_sid",
            .text(1...Limits.nameCharactersMax, pattern: "[Mm][Ss]-[Aa][Pp][Pp]://[A-Za-z0-9-]+")),
        .nullable("tenant_id", identifier), .nullable("client_id", identifier), .required("client_secret", secret),
    ]).described("Give either `package_sid`, or `tenant_id` and `client_id`.").with(
        "not",
        [
            "anyOf": [
                .present(["package_sid", "tenant_id"], strict), .present(["package_sid", "client_id"], strict),
                ["not": ["anyOf": [.present(["package_sid"], strict), .present(["tenant_id", "client_id"], strict)]]],
            ]
        ])

    private static let mpns = Schema.object([.nullable("certificate", chain), .nullable("private_key", key)])
        .described("Give both, or neither for the network's unauthenticated service.").with(
            "not",
            [
                "allOf": [
                    ["anyOf": [.present(["certificate"], strict), .present(["private_key"], strict)]],
                    ["not": .present(["certificate", "private_key"], strict)],
                ]
            ])

    private static let webPush = Schema.object([
        .required(
            "subject",
            .text(1...Limits.vapidSubjectCharactersMax, pattern: contact).described(
                "How the push service reaches whoever runs this (RFC 8292 §2.1).")),
        .nullable(
            "private_key",
            Schema.text(
                1...Limits.privateKeyBytesMax,
                pattern: #"([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]|[\t\n\r -~]*-----BEGIN [\t\n\r -~]*)"#
            ).described("A P-256 key: 32 bytes in base64url, or PEM. Made when absent.")),
    ])

    private static let domain = "([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z]{2,63}"
    private static let contact =
        "(mailto:[A-Za-z0-9.!#$%&'*+=_~-]+@\(domain)|https://\(domain)([/?][A-Za-z0-9._~:/?@!$&'()*+,;=%-]*)?)"

    private static let told = Schema.component(
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
