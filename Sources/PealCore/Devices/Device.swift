/// One installation of an app, as stored.
package struct Device: Sendable, Hashable {
    package var id: DeviceID
    package var key: DeviceKey
    package var address: Address
    package var userID: String?
    /// All topics that it subscribed to, expired ones included; `topics(at:)` returns the current ones.
    package var topics: [String]
    /// When topics expire, for those in `topics` that do.
    package var topicEnds: [String: Timestamp]
    package var locale: String?
    package var timeZone: String?
    package var detail: DeviceDetail
    /// Whether it can show interactive notifications (iOS 8, Android 4.1 and later), as determined at registration.
    package var isInteractive: Bool
    package var registeredAt: Timestamp
    /// Since when it is registered without interruption on its route.
    package var activeSince: Timestamp
    /// nil while the device is active.
    package var retirement: Retirement?

    package var platform: Platform { address.route.platform }
    package var environment: Environment { address.route.environment }

    package init(
        id: DeviceID, key: DeviceKey, address: Address, userID: String?, topics: [String], locale: String?,
        timeZone: String?, detail: DeviceDetail, isInteractive: Bool, registeredAt: Timestamp, retirement: Retirement?,
        topicEnds: [String: Timestamp] = [:], activeSince: Timestamp? = nil
    ) {
        self.id = id
        self.key = key
        self.address = address
        self.userID = userID
        self.topics = topics
        self.topicEnds = topicEnds
        self.locale = locale
        self.timeZone = timeZone
        self.detail = detail
        self.isInteractive = isInteractive
        self.registeredAt = registeredAt
        self.activeSince = activeSince ?? registeredAt
        self.retirement = retirement
    }

    /// The device's topics that have not expired.
    package func topics(at now: Timestamp) -> [String] {
        topicEnds.isEmpty ? topics : topics.filter { name in topicEnds[name].map { $0 > now } ?? true }
    }

    /// Whether it registered the id, which it keeps in the letter case that it sent.
    package func has(_ identifier: DeviceIdentifier) -> Bool {
        guard let text = detail.identifiers[identifier.kind.rawValue] else { return false }
        return ExactText(DeviceIdentifier(identifier.kind, text).value) == ExactText(identifier.value)
    }

    /// Why and when a device stopped being reachable. A retired device that registers again is active.
    package struct Retirement: Sendable, Hashable {
        package let at: Timestamp
        package let reason: String

        package init(at: Timestamp, reason: String) {
            self.at = at
            self.reason = reason
        }
    }
}

/// A device's id in another system, which an audience may use. Several devices may share one.
package struct DeviceIdentifier: Sendable, Hashable {
    /// The raw value is the name in the API and the store. A dialect can declare further kinds.
    package struct Kind: RawRepresentable, Sendable, Hashable {
        package static let idfa = Kind(rawValue: "idfa")
        package static let idfv = Kind(rawValue: "idfv")
        package static let advertisingID = Kind(rawValue: "advertising_id")
        package static let androidID = Kind(rawValue: "android_id")
        package static let serialID = Kind(rawValue: "serial_id")

        /// The kinds that do not belong to a dialect.
        package static let common: [Kind] = [.idfa, .idfv, .advertisingID, .androidID, .serialID]
        private static let caseless: Set<Kind> = [.idfa, .idfv, .advertisingID, .androidID]

        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }

        /// Whether the letter case of values is insignificant: UUIDs and hexadecimal numbers.
        package var ignoresCase: Bool { Self.caseless.contains(self) }
    }

    package let kind: Kind
    /// The id in the form that is compared byte by byte: in lower case (ASCII) if the letter case is insignificant.
    package let value: String

    package init(_ kind: Kind, _ value: String) {
        self.kind = kind
        self.value = kind.ignoresCase ? value.lowercasedASCII : value
    }
}

/// Which devices can show notifications with buttons: iOS from 8, Android from 4.1 (PCF Push 1.8, "interactive-only").
package enum Interactivity {
    /// A device without a version counts as one with a current version.
    package static func isInteractive(platform: Platform, osVersion: String?) -> Bool {
        guard let wanted = platform.interactiveSince else { return false }
        guard let osVersion, let version = numbers(in: osVersion) else { return true }
        return !version.lexicographicallyPrecedes(wanted)
    }

    /// The leading numbers of `17.4.1` or `iOS 17`; nil if there are none.
    private static func numbers(in version: String) -> [Int]? {
        guard let start = version.firstIndex(where: \.isNumber) else { return nil }
        let text = version[start...].prefix { $0.isNumber || $0 == "." }
        let parts = text.split(separator: ".").prefix(3).compactMap { Int($0) }
        return parts.isEmpty ? nil : parts
    }
}

/// A checked request to register an installation. In a change, nil keeps an existing device's value; in a registration,
/// it clears the value.
package struct DeviceRegistration: Sendable, Hashable {
    package var id: DeviceID
    package var address: Address
    package var userID: String?
    /// nil keeps the topics of an existing device.
    package var topics: [String]?
    package var locale: String?
    package var timeZone: String?
    package var detail: DeviceDetail
    package var isInteractive: Bool
    /// Which id remains if the address is known under another id: dialects differ.
    package var identityOnMove: IdentityOnMove

    package enum IdentityOnMove: Sendable, Hashable {
        /// The new id takes the address over and the older device is retired with `AddressMoved`.
        case newID
        /// The older device keeps its id and takes the new fields.
        case knownID
    }

    package init(
        id: DeviceID, address: Address, userID: String? = nil, topics: [String]? = nil, locale: String? = nil,
        timeZone: String? = nil, detail: DeviceDetail = .init(), isInteractive: Bool = true,
        identityOnMove: IdentityOnMove = .newID
    ) {
        self.id = id
        self.address = address
        self.userID = userID
        self.topics = topics
        self.locale = locale
        self.timeZone = timeZone
        self.detail = detail
        self.isInteractive = isInteractive
        self.identityOnMove = identityOnMove
    }

    package struct Result: Sendable, Hashable {
        package let device: Device
        package let isNew: Bool
        /// How many subscriptions were added, removed and moved to another route.
        package let topicChanges: Int

        package init(device: Device, isNew: Bool, topicChanges: Int = 0) {
            self.device = device
            self.isNew = isNew
            self.topicChanges = topicChanges
        }
    }
}

/// What is known of a device beyond what sending needs. Stored apart from the hot row and returned as received.
package struct DeviceDetail: Sendable, Hashable {
    package var osVersion: String?
    package var appVersion: String?
    /// Kinds of `DeviceIdentifier` and their values.
    package var identifiers: [String: String] = [:]
    /// The author's own object; `{}` when there is none.
    package var attributes: JSON.Members = .init()
    package var alias: String?
    package var model: String?
    package var manufacturer: String?
    /// The operating system in the client's own spelling, such as `android-fcm`.
    package var vendorOS: String?
    /// The address in its original letter case, if that differs from the stored form.
    package var addressAsSent: String?
    /// The environment that the client named, if the provider's answer disproved it.
    package var environmentDisproved: Environment?
    /// The last retirement, if the device registered again.
    package var pastRetirement: PastRetirement?

    package init() {}

    /// The device's address as the app sent it; a subscription as JSON.
    package func text(of address: Address) -> String {
        addressAsSent ?? address.json.stringValue ?? address.json.text
    }

    package struct PastRetirement: Sendable, Hashable {
        package let retirement: Device.Retirement
        /// When the device registered again.
        package let until: Timestamp

        package init(_ retirement: Device.Retirement, until: Timestamp) {
            self.retirement = retirement
            self.until = until
        }
    }
}

/// Which devices a list contains: those that meet all conditions given.
package struct DeviceFilter: Sendable, Hashable {
    package var userID: String?
    package var address: Address?
    package var topic: String?
    /// A topic that has expired by this time has no members.
    package var instant: Timestamp

    package init(
        userID: String? = nil, address: Address? = nil, topic: String? = nil,
        at instant: Timestamp = Timestamp(milliseconds: 0)
    ) {
        self.userID = userID
        self.address = address
        self.topic = topic
        self.instant = instant
    }
}

/// Which active devices a paged list contains: those that meet all conditions given.
package struct DeviceSearch: Sendable, Hashable {
    /// The routes, in the order of the list.
    package var routes: [Route]
    package var topic: String?
    /// A part of the id, the address, the user's id or the alias, ignoring letter case. A complete id also finds a
    /// retired device. Searches at most `Limits.searchedRowsMax` devices.
    package var containing: String?

    package init(routes: [Route], topic: String? = nil, containing: String? = nil) {
        self.routes = routes
        self.topic = topic
        self.containing = containing
    }
}

extension String {
    fileprivate var lowercasedASCII: String {
        String(decoding: utf8.map(\.lowercasedASCII), as: UTF8.self)
    }
}
