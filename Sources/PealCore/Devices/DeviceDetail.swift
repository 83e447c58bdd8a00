/// What is known of a device beyond what sending needs: kept apart from the hot row, echoed as it came.
package struct DeviceDetail: Sendable, Hashable {
    package var osVersion: String?
    package var appVersion: String?
    /// `idfa`, `idfv`, `advertising_id`, `android_id`, `serial_id`, `devtodev_id` and their values.
    package var identifiers: [String: String] = [:]
    /// The author's own object; `{}` when there is none.
    package var attributes: JSON.Members = .init()
    package var alias: String?
    package var model: String?
    package var manufacturer: String?
    /// The operating system by the client's own word, as `android-fcm`.
    package var vendorOS: String?
    /// The address in the letter case it was sent in, where that differs from the stored form.
    package var addressAsSent: String?
    /// The environment that the client named, where the provider proved the other one.
    package var environmentDisproved: Environment?

    package init() {}
}
