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
