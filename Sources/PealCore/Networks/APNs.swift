extension Network {
    /// Apple Push Notification service.
    package static let apns = Network(
        name: .apns, title: "APNs", platforms: [Platform.Traits(.ios, interactiveSince: [8], isPrimary: true)],
        routes: [
            Route.Traits(.apnsProduction, .ios), Route.Traits(.apnsSandbox, .ios, .sandbox),
            Route.Traits(.apnsBroadcastProduction, .ios, isBroadcast: true, address: .channel),
            Route.Traits(.apnsBroadcastSandbox, .ios, .sandbox, isBroadcast: true, address: .channel),
        ],
        address: .deviceToken, credentials: APNsCredentialForm.form, credential: Credential.APNs.decode,
        appID: AppID(fact: "bundle_id", fallback: \.bundleID, placeholder: "bundle.id"),
        delivery: DeliveryTraits(
            namesExpiry: true, collapsesWindows: true, wakesApps: true,
            display: DisplayContent.applyAPNs))
}

extension ProviderName {
    package static let apns = ProviderName(named: "apns")
}

extension Platform {
    package static let ios = Platform(named: "ios")
}

extension Route {
    package static let apnsProduction = Route(number: 1)
    package static let apnsSandbox = Route(number: 2)
    /// The routes to broadcast channels of Live Activities. Messages name a channel; no device is on these routes.
    package static let apnsBroadcastProduction = Route(number: 9)
    package static let apnsBroadcastSandbox = Route(number: 10)

    /// The route to broadcast channels in `environment`.
    package static func broadcast(_ environment: Environment) -> Route {
        environment == .production ? .apnsBroadcastProduction : .apnsBroadcastSandbox
    }
}

extension Credential {
    /// An app's credential for APNs.
    package enum APNs: NetworkCredential {
        case token(APNsToken)
        case certificate(APNsCertificate)
        /// As received; `Provider.examine` turns it into the certificate that is stored.
        case archive(APNsArchive)

        package var providerAppID: String {
            switch self {
            case .token(let credential): credential.bundleID
            case .certificate(let credential): credential.bundleID
            case .archive(let credential): credential.bundleID
            }
        }

        package var kind: String {
            switch self {
            case .token: "token"
            case .certificate(let credential): credential.isFromArchive ? "p12" : "certificate"
            case .archive: "p12"
            }
        }

        package var members: [(String, JSON?)] {
            switch self {
            case .token(let signing):
                [
                    ("key_id", .string(signing.keyID)), ("team_id", .string(signing.teamID)),
                    ("private_key", .string(signing.privateKey)), ("bundle_id", .string(signing.bundleID)),
                ]
            case .certificate(let certificate):
                certificate.identity.members + [("bundle_id", .string(certificate.bundleID))]
            case .archive(let archive):
                [
                    ("data", .string(Base64URL.encode(archive.data))), ("passphrase", .string(archive.passphrase)),
                    ("bundle_id", .string(archive.bundleID)),
                ]
            }
        }

        @Sendable static func decode(_ stored: StoredCredential) throws -> Credential {
            let kind = try stored.kind()
            guard kind == "token" else {
                return .apnsCertificate(
                    .init(
                        identity: try stored.identity(), bundleID: try stored.text("bundle_id"),
                        isFromArchive: kind == "p12"))
            }
            return .apnsToken(
                .init(
                    keyID: try stored.text("key_id"), teamID: try stored.text("team_id"),
                    privateKey: try stored.text("private_key"), bundleID: try stored.text("bundle_id")))
        }
    }

    package static func apnsToken(_ credential: APNsToken) -> Credential { Credential(APNs.token(credential)) }

    package static func apnsCertificate(_ credential: APNsCertificate) -> Credential {
        Credential(APNs.certificate(credential))
    }

    package static func apnsArchive(_ credential: APNsArchive) -> Credential { Credential(APNs.archive(credential)) }

    /// nil for a credential of another network.
    package var apns: APNs? { value as? APNs }

    /// The signing key (`.p8`) of provider tokens.
    package struct APNsToken: Sendable, Hashable {
        package var keyID: String
        package var teamID: String
        /// PEM, PKCS#8, P-256.
        package var privateKey: String
        package var bundleID: String

        package init(keyID: String, teamID: String, privateKey: String, bundleID: String) {
            self.keyID = keyID
            self.teamID = teamID
            self.privateKey = privateKey
            self.bundleID = bundleID
        }
    }

    /// A client certificate for one app.
    package struct APNsCertificate: Sendable, Hashable {
        package var identity: TLSIdentity
        package var bundleID: String
        /// Whether it was supplied as PKCS#12.
        package var isFromArchive: Bool

        package init(identity: TLSIdentity, bundleID: String, isFromArchive: Bool = false) {
            self.identity = identity
            self.bundleID = bundleID
            self.isFromArchive = isFromArchive
        }
    }

    /// A client certificate in a PKCS#12 archive.
    package struct APNsArchive: Sendable, Hashable {
        package var data: [UInt8]
        package var passphrase: String
        package var bundleID: String

        package init(data: [UInt8], passphrase: String, bundleID: String) {
            self.data = data
            self.passphrase = passphrase
            self.bundleID = bundleID
        }
    }
}

/// How authors supply a credential for APNs: `{kind: token|certificate|p12, …, bundle_id}`.
private enum APNsCredentialForm {
    static let form = CredentialForm(
        choice: .named("kind"),
        kinds: [
            .init("token", [.word("key_id"), .word("team_id"), .pem("private_key"), .word("bundle_id")]) { given in
                .apnsToken(
                    .init(
                        keyID: given["key_id"], teamID: given["team_id"], privateKey: given["private_key"],
                        bundleID: given["bundle_id"]))
            },
            .init(
                "certificate",
                [.pem("certificate", bytesMax: Limits.certificatesBytesMax), .pem("private_key"), .word("bundle_id")]
            ) { given in
                .apnsCertificate(
                    .init(
                        identity: .init(certificates: given["certificate"], privateKey: given["private_key"]),
                        bundleID: given["bundle_id"]))
            },
            .init(
                "p12",
                [
                    .init("data", .archive(charactersMax: Limits.archiveCharactersMax)),
                    .init("passphrase", .secret, isRequired: false), .word("bundle_id"),
                ]
            ) { given in
                .apnsArchive(
                    .init(
                        data: Base64URL.decode(given["data"]) ?? [], passphrase: given["passphrase"],
                        bundleID: given["bundle_id"]))
            },
        ])
}

/// The part of a message's content that is only for APNs.
package struct APNsContent: NetworkContent {
    package static let platform = Platform.ios
    package var members: JSON.Members

    package init(members: JSON.Members) { self.members = members }

    package init(payload: JSON.Members) { members = JSON.Members([("payload", .object(payload))]) }

    /// The value of `apns-push-type`.
    package var pushType: JSON? { self["push_type"] }
    /// The payload, which is deep-merged over the one built from the common fields.
    package var payload: JSON? { self["payload"] }

    /// Whether devices show or play anything of an `aps`.
    package static func isVisible(_ aps: JSON) -> Bool {
        ["alert", "badge", "sound"].contains { aps[$0].map { !$0.isNull } ?? false }
    }
}
