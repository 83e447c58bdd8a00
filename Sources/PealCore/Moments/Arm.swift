/// How a user's messages of a campaign are delivered. The raw value is stored.
package enum Arm: Int64, CaseIterable, Sendable, Hashable {
    /// At once, by the server.
    case traditional = 0
    /// At a moment inside the window, which the device chooses.
    case contextAware = 1

    /// The word in the APIs.
    package var name: String {
        switch self {
        case .traditional: "traditional"
        case .contextAware: "context_aware"
        }
    }
}

/// Assigns users to the arms of a campaign's experiment: a pure function of user and campaign, so that every server
/// gives the same answer. This type says what is hashed, and reads the hash; the store computes SHA-256.
package enum ArmAssignment {
    /// The bytes whose SHA-256 decides: a version and four names, separated by U+001F.
    /// - Parameters:
    ///   - app: The bundle id, or the id of an app without one.
    ///   - salt: Another one for each run of an experiment.
    package static func input(app: String, salt: String, campaign: String, userID: String) -> [UInt8] {
        Array(["ab1", app, salt, campaign, userID].joined(separator: "\u{1F}").utf8)
    }

    /// A user's number in 0 ..< 1: the first 8 bytes of the hash, big-endian, divided by 2⁶⁴.
    package static func unit(ofDigest digest: some Sequence<UInt8>) -> Double {
        Double(digest.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }) / 18_446_744_073_709_551_616
    }

    /// - Parameter share: The share of users who get their messages at good moments, from 0 to 1.
    package static func arm(ofDigest digest: some Sequence<UInt8>, share: Double) -> Arm {
        unit(ofDigest: digest) < share ? .contextAware : .traditional
    }
}
