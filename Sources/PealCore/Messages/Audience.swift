/// Who gets a message, as a predicate that is evaluated while sending: everybody, or the union of the lists, narrowed
/// by the other members.
package struct Audience: Sendable, Hashable {
    package var includesAll = false
    package var devices: [DeviceID] = []
    package var users: [String] = []
    /// Devices by their ids in other systems.
    package var identifiers: [DeviceIdentifier] = []
    package var topics: [String] = []
    /// Addresses, which need not belong to a registered device.
    package var addresses: [Address] = []
    /// nil for all platforms.
    package var platforms: Set<Platform>?
    package var interactiveOnly = false
    package var excludedTopics: [String] = []

    package init() {}

    /// Whether it lists all its members, so that it can be resolved without reading key ranges.
    package var isExplicit: Bool { !includesAll && topics.isEmpty }
    package var isEmpty: Bool {
        isExplicit && devices.isEmpty && users.isEmpty && identifiers.isEmpty && addresses.isEmpty
    }
}

/// Whether a message's audience contains a device in its current state, and why.
enum AudienceMatch {
    case by(String)
    case no(String)

    /// - Parameters:
    ///   - joined: when the device joined its topics; a missing one is no obstacle.
    ///   - cutoff: when the audience was fixed.
    init(_ device: Device, in draft: MessageDraft, joined: [String: Timestamp] = [:], cutoff: Timestamp? = nil) {
        let audience = draft.audience
        let topics = Set(device.topics)
        if let platforms = audience.platforms, !platforms.contains(device.platform) {
            self = .no("its platform is not in the audience")
        } else if audience.interactiveOnly, !device.isInteractive {
            self = .no("it cannot show interactive notifications")
        } else if let topic = audience.excludedTopics.first(where: topics.contains) {
            self = .no("its topic \(topic) is excluded")
        } else if audience.devices.contains(device.id) {
            self = .by("its id")
        } else if let user = device.userID, audience.users.contains(user) {
            self = .by("its user")
        } else if let identifier = audience.identifiers.first(where: {
            device.detail.identifiers[$0.kind.rawValue] == $0.value
        }) {
            self = .by("its \(identifier.kind.rawValue)")
        } else if audience.addresses.contains(device.address) {
            self = .by("its address")
        } else if let topic = audience.topics.first(where: { name in
            topics.contains(name) && (joined[name].flatMap { at in cutoff.map { at <= $0 } } ?? true)
        }) {
            self = .by("topic \(topic)")
        } else if audience.includesAll {
            self = .by("all")
        } else if let topic = audience.topics.first(where: topics.contains) {
            self = .no("it joined topic \(topic) after sending had started")
        } else {
            self = .no("the audience does not include it")
        }
    }
}
