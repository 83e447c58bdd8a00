import PealCore

/// Where FCM is and how it is reached. Admin configuration only: no request may choose any of it.
package struct FCMConfiguration: Sendable {
    /// `https://host[:port][/prefix]`; the prefix stands before `/v1/projects/…`.
    package var url: String
    /// `host`, `host:port` or `.suffix` that a service account's `token_uri` may name besides Google's.
    package var tokenAllowedHosts: [String]
    /// PEM file with trust roots besides the system's; nil = none.
    package var caFile: String?
    /// Connections per credential.
    package var connectionsPerPoolMax: Int
    /// Requests a second to one Firebase project at most, and those that a ramp begins with.
    package var ratePerSecond: Int
    package var startRatePerSecond: Int

    package init(
        url: String = "https://fcm.googleapis.com", tokenAllowedHosts: [String] = [], caFile: String? = nil,
        connectionsPerPoolMax: Int = Limits.connectionsPerPoolMax, ratePerSecond: Int = Limits.fcmRatePerSecond,
        startRatePerSecond: Int = Limits.fcmStartRatePerSecond
    ) {
        self.url = url
        self.tokenAllowedHosts = tokenAllowedHosts
        self.caFile = caFile
        self.connectionsPerPoolMax = connectionsPerPoolMax
        self.ratePerSecond = ratePerSecond
        self.startRatePerSecond = startRatePerSecond
    }
}

/// A configuration that cannot be used.
package struct FCMConfigurationError: Error, CustomStringConvertible {
    /// One line for the person who starts the server.
    package let description: String
}

extension FCMConfiguration {
    /// What a URL says, taken apart.
    struct Base: Sendable, Hashable {
        let endpoint: Endpoint
        /// Empty, or `/` and more without a `/` at its end.
        let pathPrefix: String

        /// The path of the one request that is sent.
        /// - Parameter projectID: made of characters that stand in a path as they are; see `FCMCredential`.
        func path(projectID: String) -> String { "\(pathPrefix)/v1/projects/\(projectID)/messages:send" }
    }

    /// - Throws: `FCMConfigurationError`, naming the URL.
    func base() throws(FCMConfigurationError) -> Base {
        let scheme = "https://"
        let rest = url.dropFirst(scheme.count)
        let origin = scheme + rest.prefix { $0 != "/" }
        var prefix = rest.drop { $0 != "/" }
        while prefix.hasSuffix("/") { prefix = prefix.dropLast() }
        let isPath = prefix.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x23 && $0 != 0x3F }
        guard url.lowercased().hasPrefix(scheme), isPath, let endpoint = Endpoint(origin) else {
            throw FCMConfigurationError(description: "the FCM URL is not https://host[:port][/prefix]: \(url)")
        }
        return Base(endpoint: endpoint, pathPrefix: String(prefix))
    }

    /// Google's token endpoints and those of the configuration.
    var tokenHosts: TokenHosts {
        TokenHosts(
            vendors: ["oauth2.googleapis.com", "accounts.google.com", ".googleapis.com"], allowed: tokenAllowedHosts)
    }
}
