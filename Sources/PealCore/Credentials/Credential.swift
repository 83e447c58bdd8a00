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
