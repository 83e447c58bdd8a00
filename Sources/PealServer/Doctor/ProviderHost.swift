internal import Foundation
internal import PealCore

/// A host of a push network that a server must reach.
struct ProviderHost: Sendable {
    let provider: ProviderName
    /// Only APNs has one for each.
    let environment: Environment?
    /// The kind of credential that needs it; nil = every kind.
    let kind: String?
    let host: String
    let port: Int

    /// nil for a URL without a host.
    private init?(_ provider: ProviderName, _ url: String, environment: Environment? = nil, kind: String? = nil) {
        // Where a tenant's id stands in a URL it is not the host.
        let parts = URLComponents(string: url.replacing("{", with: "").replacing("}", with: ""))
        guard let parts, let host = parts.host else { return nil }
        self.provider = provider
        self.environment = environment
        self.kind = kind
        self.host = host.trimmingCharacters(in: ["[", "]"])
        port = parts.port ?? (parts.scheme == "http" ? 80 : 443)
    }

    func isNeeded(by record: CredentialRecord) -> Bool {
        record.provider == provider && (environment ?? record.environment) == record.environment
            && (kind ?? record.kind) == record.kind
    }

    /// Those whose address is known before a device is: channels and subscriptions bring their own.
    static func all(_ configuration: ServerConfiguration) -> [ProviderHost] {
        let google = "https://fcm.googleapis.com"
        let fcm = configuration.value(of: .fcmURL) ?? google
        return [
            ProviderHost(.apns, configuration.value(of: .apnsProductionURL) ?? "", environment: .production),
            ProviderHost(.apns, configuration.value(of: .apnsSandboxURL) ?? "", environment: .sandbox),
            ProviderHost(.fcm, fcm),
            // Where service accounts get their access tokens; who aims FCM elsewhere has accounts of their own.
            fcm.hasPrefix(google) ? ProviderHost(.fcm, "https://oauth2.googleapis.com") : nil,
            ProviderHost(.wns, configuration.value(of: .wnsTokenURL) ?? "https://login.live.com", kind: "package"),
            ProviderHost(
                .wns, configuration.value(of: .wnsTenantTokenURL) ?? "https://login.microsoftonline.com",
                kind: "tenant"),
        ].compactMap { $0 }
    }
}
