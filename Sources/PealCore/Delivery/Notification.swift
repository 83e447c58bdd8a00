/// A message rendered for one platform and locale: the parts of the provider's request that are the same for all
/// devices, encoded once. Path and body have a gap for the address if the provider expects it there.
package struct Notification: Sendable, Hashable {
    package let route: Route
    package let path: Gapped
    /// Headers with lower-case names. Authorization and each device's own headers (`apns-id`) are added when it is
    /// sent.
    package let headers: [Header]
    package let body: Gapped
    /// A header whose value is the address as text; nil for none.
    package let addressHeader: String?
    /// The message's expiry, for networks whose requests contain the remaining lifetime in seconds. nil if the request
    /// already contains the expiry, or if the message is tried once and never stored.
    package let expiresAt: Timestamp?
    /// Whether the author chose a topic of the app other than the plain one. If the network refuses that topic, it
    /// refuses this message and not the app.
    package let hasOwnTopic: Bool
    /// As the network counts it; nil if it has no maximum.
    package let size: PayloadSize?

    package init(
        route: Route, path: Gapped, headers: [Header], body: Gapped, addressHeader: String? = nil,
        expiresAt: Timestamp? = nil, hasOwnTopic: Bool = false, size: PayloadSize? = nil
    ) {
        self.route = route
        self.path = path
        self.headers = headers
        self.body = body
        self.addressHeader = addressHeader
        self.expiresAt = expiresAt
        self.hasOwnTopic = hasOwnTopic
        self.size = size
    }

    package struct Header: Sendable, Hashable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Bytes with at most one gap for the address.
    package struct Gapped: Sendable, Hashable {
        package let prefix: [UInt8]
        package let suffix: [UInt8]
        package let gap: Gap

        package enum Gap: Sendable, Hashable {
            case none, addressText, addressHex
        }

        package init(_ prefix: [UInt8], gap: Gap = .none, suffix: [UInt8] = []) {
            self.prefix = prefix
            self.suffix = suffix
            self.gap = gap
        }
    }
}

/// How many bytes a payload has, as its network counts them, and how many are allowed.
package struct PayloadSize: Sendable, Hashable {
    package let bytes: Int
    package let max: Int

    package init(bytes: Int, max: Int) {
        self.bytes = bytes
        self.max = max
    }

    /// How many bytes are too many.
    package var excess: Int { Swift.max(0, bytes - max) }
}

/// The `apns-id` of a message to a device: a pure function of both. It needs no storage, and a notification that Peal
/// resends after a crash has the same id. Collisions are as unlikely as with random UUIDs.
package enum NotificationID {
    /// - Parameter inAddresses: Whether `key` is the number of an unregistered address instead of a device's key.
    package static func make(message: MessageID, inAddresses: Bool, key: DeviceKey) -> Identifier<Notification> {
        let number = UInt64(bitPattern: key) << 1 | (inAddresses ? 1 : 0)
        let low = mix(message.low &+ mix(number))
        let high = mix(message.high ^ mix(message.low) &+ number)
        // Version 8 (RFC 9562 §5.8: custom layout) and the RFC's variant.
        return Identifier(
            high: high & ~0xF000 | 0x8000, low: low & ~(0b11 << 62) | 0b10 << 62)
    }

    /// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit, one to one.
    private static func mix(_ value: UInt64) -> UInt64 {
        var value = value &+ 0x9E37_79B9_7F4A_7C15
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
