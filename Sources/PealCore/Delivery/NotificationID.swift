/// The `apns-id` of a message to a device: a pure function of both, so it needs no storage and a notification that is
/// sent again after a crash carries the same one. That two share one is as unlikely as with random UUIDs.
package enum NotificationID {
    /// `inAddresses` tells keys of unregistered addresses from device keys.
    package static func make(message: MessageID, inAddresses: Bool, key: DeviceKey) -> Identifier<Notification> {
        let number = UInt64(bitPattern: key) << 1 | (inAddresses ? 1 : 0)
        let low = mix(message.low &+ mix(number))
        let high = mix(message.high ^ mix(message.low) &+ number)
        // Version 8 (RFC 9562 §5.8: the maker's own layout) and the RFC's variant.
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
