package import PealCore

/// Where Web Push may send to. Admin configuration only: no request may choose any of it.
package struct WebPushConfiguration: Sendable {
    /// The hosts of push services, and whether any other public one may be sent to.
    package var addressRules: AddressRules
    /// PEM file with trust roots besides the system's; nil = none.
    package var caFile: String?

    package init(addressRules: AddressRules = AddressRules(), caFile: String? = nil) {
        self.addressRules = addressRules
        self.caFile = caFile
    }
}
