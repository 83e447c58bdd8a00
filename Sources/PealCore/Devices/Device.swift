/// One installation of an app, as it is stored.
package struct Device: Sendable, Hashable {
    package var id: DeviceID
    package var key: DeviceKey
    package var address: Address
    package var userID: String?
    /// Of every topic it subscribed to, expired ones too; `topics(at:)` tells those that count.
    package var topics: [String]
    /// When those of `topics` expire that do.
    package var topicEnds: [String: Timestamp]
    package var locale: String?
    package var timeZone: String?
    package var detail: DeviceDetail
    /// Whether it can show interactive notifications (iOS 8, Android 4.1 and later); decided at registration.
    package var isInteractive: Bool
    package var registeredAt: Timestamp
    /// nil while the device is active.
    package var retirement: Retirement?

    package var platform: Platform { address.route.platform }
    package var environment: Environment { address.route.environment }

    package init(
        id: DeviceID, key: DeviceKey, address: Address, userID: String?, topics: [String], locale: String?,
        timeZone: String?, detail: DeviceDetail, isInteractive: Bool, registeredAt: Timestamp, retirement: Retirement?,
        topicEnds: [String: Timestamp] = [:]
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
        self.retirement = retirement
    }

    /// Its topics that have not expired.
    package func topics(at now: Timestamp) -> [String] {
        topicEnds.isEmpty ? topics : topics.filter { name in topicEnds[name].map { $0 > now } ?? true }
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
