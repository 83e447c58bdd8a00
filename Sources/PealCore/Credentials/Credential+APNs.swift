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
