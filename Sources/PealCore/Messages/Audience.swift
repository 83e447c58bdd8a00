/// Who a message is for, as a predicate that is resolved while sending: `all`, or the union of the lists; then
/// narrowed.
package struct Audience: Sendable, Hashable {
    package var includesAll = false
    package var devices: [DeviceID] = []
    package var users: [String] = []
    /// Devices by what they are called elsewhere.
    package var identifiers: [DeviceIdentifier] = []
    package var topics: [String] = []
    /// Addresses that need not belong to a registered device.
    package var addresses: [Address] = []
    /// nil = every platform.
    package var platforms: Set<Platform>?
    package var interactiveOnly = false
    package var excludedTopics: [String] = []

    package init() {}

    /// Whether every member is named, so that it can be resolved without reading windows of keys.
    package var isExplicit: Bool { !includesAll && topics.isEmpty }
    package var isEmpty: Bool {
        isExplicit && devices.isEmpty && users.isEmpty && identifiers.isEmpty && addresses.isEmpty
    }
}
