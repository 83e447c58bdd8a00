/// Which devices get a message, as a predicate that is evaluated while sending: all devices, or the union of the lists,
/// narrowed by the other members.
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
    /// Narrows the others; alone, it narrows all devices.
    package var condition: Condition?

    package init() {}

    /// Whether it lists all its members, so that it can be resolved without reading key ranges.
    package var isExplicit: Bool { !includesEverybody && topics.isEmpty }
    package var isEmpty: Bool { isExplicit && namesNobody }
    /// Whether the other members narrow the set of all devices.
    package var includesEverybody: Bool { includesAll || condition != nil && topics.isEmpty && namesNobody }

    private var namesNobody: Bool {
        devices.isEmpty && users.isEmpty && identifiers.isEmpty && addresses.isEmpty
    }

    /// Whether it lists the address; a Web Push subscription also counts with other keys.
    func names(_ address: Address) -> Bool {
        let identity = address.identity
        return addresses.contains { $0.route == address.route && $0.identity == identity }
    }
}

/// Whether a message's audience contains a device in its current state, and why.
enum AudienceMatch {
    /// - Parameter isNamed: whether the audience lists the device, its user or one of its identifiers.
    case by(String, isNamed: Bool = false)
    case no(String)

    /// - Parameters:
    ///   - condition: `draft.audience.condition` without segments.
    ///   - joined: when the device joined its topics; a missing time does not exclude the device.
    init(
        _ device: Device, in draft: MessageDraft, of message: Message, where condition: Condition?,
        joined: [ExactText: Timestamp]
    ) {
        let cutoff = message.cutoffAt
        self.init(device, in: draft, where: condition, joined: joined, cutoff: cutoff)
        guard case .by = self else { return }
        if let wanted = draft.audienceEnvironment, device.environment != wanted,
            device.address.route.otherEnvironment != nil
        {
            self = .no("its environment is \(device.environment.rawValue), and the message is for \(wanted.rawValue)")
        } else if let retirement = device.retirement, retirement.at <= cutoff ?? retirement.at {
            self = .no("it was retired at \(retirement.at): \(retirement.reason)")
        }
    }

    /// Ignores the message's environment and the device's retirement.
    /// - Parameter cutoff: when the audience was fixed; nil if it has not been.
    private init(
        _ device: Device, in draft: MessageDraft, where condition: Condition?, joined: [ExactText: Timestamp],
        cutoff: Timestamp?
    ) {
        let audience = draft.audience
        // Names are compared as the store does, and the instant is the one that counts when it plans.
        let planned = cutoff ?? draft.startAt ?? draft.createdAt
        let topics = Set(device.topics(at: planned).map(ExactText.init))
        func isIn(_ topic: String) -> Bool { topics.contains(ExactText(topic)) }
        if let condition, !condition.holds(for: device, topics, at: planned) {
            self = .no("the condition does not match it")
            return
        }
        if let platforms = audience.platforms, !platforms.contains(device.platform) {
            self = .no("its platform is not in the audience")
        } else if audience.interactiveOnly, !device.isInteractive {
            self = .no("it cannot show interactive notifications")
        } else if let topic = audience.excludedTopics.first(where: isIn) {
            self = .no("its topic \(topic) is excluded")
        } else if audience.devices.contains(device.id) {
            self = .by("its id", isNamed: true)
        } else if let user = device.userID, audience.users.contains(where: { ExactText($0) == ExactText(user) }) {
            self = .by("its user", isNamed: true)
        } else if let identifier = audience.identifiers.first(where: device.has) {
            self = .by("its \(identifier.kind.rawValue)", isNamed: true)
        } else if audience.names(device.address) {
            self = .by("its address", isNamed: true)
        } else if let topic = audience.topics.first(where: { name in
            isIn(name) && (joined[ExactText(name)].flatMap { at in cutoff.map { at <= $0 } } ?? true)
        }) {
            self = .by("topic \(topic)")
        } else if audience.includesAll {
            self = .by("all")
        } else if audience.includesEverybody {
            self = .by("the condition")
        } else if let topic = audience.topics.first(where: isIn) {
            self = .no("it joined topic \(topic) after sending had started")
        } else {
            self = .no("the audience does not include it")
        }
    }
}

extension Condition {
    /// Whether it holds for a device in its current state.
    /// - Parameters:
    ///   - topics: the device's own.
    ///   - now: when the audience is or was fixed.
    fileprivate func holds(for device: Device, _ topics: Set<ExactText>, at now: Timestamp) -> Bool {
        holds { leaf in
            switch leaf {
            case .topic(let name): topics.contains(ExactText(name))
            case .user(let id): device.userID.map { $0.utf8.elementsEqual(id.utf8) } ?? false
            case .device(let id): device.id == id
            case .platform(let platform): device.platform == platform
            case .locale(let range): device.locale.map { Self.locale($0, isIn: range) } ?? false
            case .timeZone(let name): device.timeZone == name
            case .attribute(let name, let tests):
                tests.allSatisfy { $0.passes(device.detail.attributes[name]) }
            case .appVersion(let tests): tests.allSatisfy { $0.passes(version: device.detail.appVersion) }
            case .seen(let days): device.registeredAt >= now - Self.age(days: days)
            case .registered(let instant): device.activeSince > instant
            case .segment, .and, .or, .not: false
            }
        }
    }
}
