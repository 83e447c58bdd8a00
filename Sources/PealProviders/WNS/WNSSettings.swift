package import PealCore

/// Where WNS' access tokens come from and which channel URIs may be sent to. Admin configuration only: no request may
/// choose any of it.
package struct WNSConfiguration: Sendable {
    package static let tokenURLDefault = "https://login.live.com/accesstoken.srf"
    package static let tenantTokenURLDefault = "https://login.microsoftonline.com/{tenant_id}/oauth2/v2.0/token"

    /// For Store apps.
    package var tokenURL: String
    /// For the Windows App SDK; `{tenant_id}` stands for the credential's.
    package var tenantTokenURL: String
    package var addressRules: AddressRules
    /// PEM file with trust roots besides the system's; nil = none.
    package var caFile: String?

    package init(
        tokenURL: String = tokenURLDefault, tenantTokenURL: String = tenantTokenURLDefault,
        addressRules: AddressRules = .init(), caFile: String? = nil
    ) {
        self.tokenURL = tokenURL
        self.tenantTokenURL = tenantTokenURL
        self.addressRules = addressRules
        self.caFile = caFile
    }
}

/// A configuration that cannot be used.
package struct WNSConfigurationError: Error, CustomStringConvertible {
    /// Whether it is the tenants' URL.
    package let isTenant: Bool
    /// One line for the person who starts the server.
    package let description: String
}

extension WNSConfiguration {
    /// - Throws: `WNSConfigurationError`, naming the URL: secrets go over https only, or to this machine.
    func check() throws(WNSConfigurationError) {
        for (isTenant, text) in [(false, tokenURL), (true, tenantTokenURL)] {
            let uri = EndpointURI(isTenant ? text.replacing("{tenant_id}", with: "tenant") : text)
            guard let uri, uri.isSecure || uri.isLoopback else {
                throw WNSConfigurationError(isTenant: isTenant, description: "must be an https URL, not \"\(text)\"")
            }
        }
    }
}
