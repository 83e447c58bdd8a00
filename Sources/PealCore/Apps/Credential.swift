/// What an app shows a push network to be let in. Secrets: never logged, never returned.
package enum Credential: Sendable, Hashable {
    case apnsToken(APNsToken)
    case apnsCertificate(APNsCertificate)
    /// As it is put; `Provider.examine` turns it into a certificate, which is what is stored.
    case apnsArchive(APNsArchive)
    case fcm(FCMServiceAccount)
    case wns(WNSClient)
    case mpns(MPNSClient)
    /// Every key that some subscription may have been made with, the newest last.
    case webPush([VAPIDKey])

    /// What the provider knows the app by: APNs' bundle id, FCM's project id; empty elsewhere.
    package var providerAppID: String {
        switch self {
        case .apnsToken(let credential): credential.bundleID
        case .apnsCertificate(let credential): credential.bundleID
        case .apnsArchive(let credential): credential.bundleID
        case .fcm(let credential): credential.projectID
        case .wns, .mpns, .webPush: ""
        }
    }

    /// The word for it in listings.
    package var kind: String {
        switch self {
        case .apnsToken: "token"
        case .apnsCertificate(let credential): credential.isFromArchive ? "p12" : "certificate"
        case .apnsArchive: "p12"
        case .fcm: "service_account"
        case .wns(.storeApp): "package"
        case .wns(.tenant): "tenant"
        case .mpns(let credential): credential.identity == nil ? "none" : "certificate"
        case .webPush: "vapid"
        }
    }
}

extension Credential {
    /// A provider token's signing key (`.p8`).
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
        /// Whether it came as PKCS#12.
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

    /// A certificate chain, leaf first, and its key, both PEM.
    package struct TLSIdentity: Sendable, Hashable {
        package var certificates: String
        package var privateKey: String

        package init(certificates: String, privateKey: String) {
            self.certificates = certificates
            self.privateKey = privateKey
        }
    }
}

extension Credential {
    /// Members of a Google service account's JSON file.
    package struct FCMServiceAccount: Sendable, Hashable {
        package var projectID: String
        package var clientEmail: String
        package var privateKeyID: String?
        /// PEM, RSA.
        package var privateKey: String
        /// Where access tokens come from; its host is checked against the allowed ones.
        package var tokenURI: String

        package init(
            projectID: String, clientEmail: String, privateKeyID: String?, privateKey: String, tokenURI: String
        ) {
            self.projectID = projectID
            self.clientEmail = clientEmail
            self.privateKeyID = privateKeyID
            self.privateKey = privateKey
            self.tokenURI = tokenURI
        }
    }

    /// The two generations of clients that Microsoft gives access tokens to.
    package enum WNSClient: Sendable, Hashable {
        /// A Store app: `ms-app://S-1-15-…` at login.live.com.
        case storeApp(packageSID: String, clientSecret: String)
        /// An app of the Windows App SDK: a client of a Microsoft Entra tenant.
        case tenant(tenantID: String, clientID: String, clientSecret: String)
    }

    /// MPNS asks for no credential; a certificate registered with the store lifts its daily limit.
    package struct MPNSClient: Sendable, Hashable {
        package var identity: TLSIdentity?

        package init(identity: TLSIdentity?) { self.identity = identity }
    }

    /// An application server key (RFC 8292).
    package struct VAPIDKey: Sendable, Hashable {
        /// `mailto:` or `https:`, who is asked when something goes wrong.
        package var subject: String
        /// 32 bytes in base64url; empty as it is put without one: `Provider.examine` makes it.
        package var privateKey: String
        /// 65 bytes, uncompressed, in base64url; empty until `Provider.examine` told it.
        package var publicKey: String
        package var createdAt: Timestamp

        package init(subject: String, privateKey: String, publicKey: String = "", createdAt: Timestamp) {
            self.subject = subject
            self.privateKey = privateKey
            self.publicKey = publicKey
            self.createdAt = createdAt
        }
    }
}

extension Credential.VAPIDKey {
    /// Names the key in lists and paths: the last 32 characters of the public key, which is no secret.
    package var fingerprint: String { String(publicKey.suffix(32)) }
}
