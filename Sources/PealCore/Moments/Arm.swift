/// How a user's messages of a campaign are delivered. The raw value is stored.
package enum Arm: Int64, CaseIterable, Sendable, Hashable {
    /// The server sends them immediately.
    case traditional = 0
    /// The device chooses a moment in the delivery window.
    case contextAware = 1

    /// The arm's name in the APIs.
    package var name: String {
        switch self {
        case .traditional: "traditional"
        case .contextAware: "context_aware"
        }
    }
}

/// Assigns users to the arms of a campaign's experiment: a pure function of user and campaign, so that all servers
/// agree. This type defines the input of the hash and interprets the hash; the store computes SHA-256.
package enum ArmAssignment {
    /// The bytes to hash with SHA-256: a version and four names, separated by U+001F.
    /// - Parameters:
    ///   - app: The bundle id, or the app's id if it has none.
    ///   - salt: A different value for each run of an experiment.
    package static func input(app: String, salt: String, campaign: String, userID: String) -> [UInt8] {
        Array(["ab1", app, salt, campaign, userID].joined(separator: "\u{1F}").utf8)
    }

    /// A user's number in 0 ..< 1: the first 8 bytes of the hash, big-endian, divided by 2⁶⁴.
    package static func unit(ofDigest digest: some Sequence<UInt8>) -> Double {
        Double(digest.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }) / 18_446_744_073_709_551_616
    }

    /// - Parameter share: The share of users, from 0 to 1, whose messages are sent at good moments.
    package static func arm(ofDigest digest: some Sequence<UInt8>, share: Double) -> Arm {
        unit(ofDigest: digest) < share ? .contextAware : .traditional
    }
}
