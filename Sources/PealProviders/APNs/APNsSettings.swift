package import PealCore

/// Where APNs is and how it is reached. Admin configuration only: no request may choose any of it.
package struct APNsConfiguration: Sendable {
    /// The URLs of one environment, each `https://host[:port]`.
    package struct URLs: Sendable {
        /// Sends to devices.
        package var send: String
        /// Sends to broadcast channels; nil = as to devices.
        package var broadcast: String?
        /// Makes and deletes broadcast channels.
        package var management: String

        package init(send: String, broadcast: String? = nil, management: String) {
            self.send = send
            self.broadcast = broadcast
            self.management = management
        }
    }

    package var production: URLs
    package var sandbox: URLs
    /// PEM file with trust roots besides the system's; nil = none.
    package var caFile: String?
    /// Connections per (environment, credential).
    package var connectionsPerPoolMax: Int

    package init(
        production: URLs = .production, sandbox: URLs = .sandbox, caFile: String? = nil,
        connectionsPerPoolMax: Int = Limits.connectionsPerPoolMax
    ) {
        self.production = production
        self.sandbox = sandbox
        self.caFile = caFile
        self.connectionsPerPoolMax = connectionsPerPoolMax
    }
}

extension APNsConfiguration.URLs {
    /// Apple's ("Sending notification requests to APNs", "Sending channel management requests to APNs").
    package static let production = Self(
        send: "https://api.push.apple.com", management: "https://api-manage-broadcast.push.apple.com:2196")
    package static let sandbox = Self(
        send: "https://api.sandbox.push.apple.com",
        management: "https://api-manage-broadcast.sandbox.push.apple.com:2195")
}

/// A configuration that cannot be used.
package struct APNsConfigurationError: Error, CustomStringConvertible {
    /// Which of an environment's URLs it is about.
    package enum Purpose: String, Sendable {
        case send, broadcast, management
    }

    package let environment: Environment
    package let purpose: Purpose
    let url: String

    /// One line for the person who starts the server.
    package var description: String { "must be https://host[:port], not \"\(url)\"" }
}

extension APNsConfiguration {
    /// The endpoints of an environment.
    struct Endpoints: Sendable {
        let send: Endpoint
        let broadcast: Endpoint
        let management: Endpoint
    }

    /// - Throws: `APNsConfigurationError`, naming the URL.
    func endpoints(_ environment: Environment) throws(APNsConfigurationError) -> Endpoints {
        let urls = environment == .production ? production : sandbox
        func endpoint(_ url: String, _ purpose: APNsConfigurationError.Purpose) throws(APNsConfigurationError)
            -> Endpoint
        {
            guard let endpoint = Endpoint(url) else {
                throw APNsConfigurationError(environment: environment, purpose: purpose, url: url)
            }
            return endpoint
        }
        return Endpoints(
            send: try endpoint(urls.send, .send), broadcast: try endpoint(urls.broadcast ?? urls.send, .broadcast),
            management: try endpoint(urls.management, .management))
    }
}
