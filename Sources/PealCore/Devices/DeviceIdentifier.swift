/// A name that a device has elsewhere, by which an audience may mean it. Several devices may share one.
package struct DeviceIdentifier: Sendable, Hashable {
    /// The raw value is what the API and the store call it.
    package enum Kind: String, CaseIterable, Sendable, Hashable {
        case idfa, idfv
        case advertisingID = "advertising_id"
        case androidID = "android_id"
        case serialID = "serial_id"
        case devtodevID = "devtodev_id"
    }

    package let kind: Kind
    /// Compared byte by byte.
    package let value: String

    package init(_ kind: Kind, _ value: String) {
        self.kind = kind
        self.value = value
    }
}
