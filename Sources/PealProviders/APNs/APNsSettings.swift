import PealCore

/// Where APNs is and how it is reached. Admin configuration only: no request may choose any of it.
package struct APNsConfiguration: Sendable {
    /// `https://host[:port]`.
    package var productionURL: String
    package var sandboxURL: String
    /// PEM file with trust roots besides the system's; nil = none.
    package var caFile: String?
    /// Connections per (environment, credential).
    package var connectionsPerPoolMax: Int

    package init(
        productionURL: String = "https://api.push.apple.com", sandboxURL: String = "https://api.sandbox.push.apple.com",
        caFile: String? = nil, connectionsPerPoolMax: Int = Limits.connectionsPerPoolMax
    ) {
        self.productionURL = productionURL
        self.sandboxURL = sandboxURL
        self.caFile = caFile
        self.connectionsPerPoolMax = connectionsPerPoolMax
    }
}

/// A configuration that cannot be used.
package struct APNsConfigurationError: Error, CustomStringConvertible {
    /// One line for the person who starts the server.
    package let description: String
}

extension APNsConfiguration {
    /// The endpoint of an environment.
    /// - Throws: `APNsConfigurationError`, naming the URL.
    func endpoint(_ environment: Environment) throws(APNsConfigurationError) -> Endpoint {
        let url = environment == .production ? productionURL : sandboxURL
        guard let endpoint = Endpoint(url) else {
            throw APNsConfigurationError(
                description: "the APNs \(environment.rawValue) URL is not https://host[:port]: \(url)")
        }
        return endpoint
    }
}
