package import PealCore

/// Which channel URIs MPNS may be sent to. Admin configuration only: no request may choose any of it.
package struct MPNSConfiguration: Sendable {
    package var addressRules: AddressRules
    /// PEM file with trust roots besides the system's; nil = none.
    package var caFile: String?

    package init(addressRules: AddressRules = .init(), caFile: String? = nil) {
        self.addressRules = addressRules
        self.caFile = caFile
    }
}
