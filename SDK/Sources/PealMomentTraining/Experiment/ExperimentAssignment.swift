/// Assigns users to the arms of a campaign's experiment: a pure function of its inputs, so that every server gives the
/// same answer. The first 8 bytes of SHA-256("ab1␟app␟salt␟campaign␟user"), big-endian, divided by 2⁶⁴; ␟ is U+001F.
public struct ExperimentAssignment: Sendable, Hashable {
    /// How a user's messages of the campaign are planned.
    public enum Arm: String, Sendable, Hashable, Codable, CaseIterable {
        /// At a good moment, chosen on the phone.
        case contextAware = "context_aware"
        /// Immediately.
        case traditional
    }

    /// The bundle id, or the id of an app that has none.
    public let app: String
    /// One for each run of an experiment.
    public let salt: String
    /// The campaign.
    public let campaign: String

    /// The experiment of a campaign.
    public init(app: String, salt: String, campaign: String) {
        (self.app, self.salt, self.campaign) = (app, salt, campaign)
    }

    /// The user's position in 0 ..< 1.
    public func unit(of userID: String) -> Double {
        let name = [Self.version, app, salt, campaign, userID].joined(separator: "\u{1F}")
        let first = SHA256.hash(Array(name.utf8)).prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return Double(first) / 18_446_744_073_709_551_616
    }

    /// - Parameter share: the share of users that get messages at good moments. Raising it, such as for a holdout after
    ///   the decision, only moves users into that arm.
    public func arm(of userID: String, share: Double) -> Arm {
        unit(of: userID) < share ? .contextAware : .traditional
    }

    private static let version = "ab1"
}

/// SHA-256 (FIPS 180-4). Assignment needs it on every platform, and this package has no dependencies.
enum SHA256 {
    static func hash(_ message: [UInt8]) -> [UInt8] {
        var padded = message + [0x80]
        while padded.count % 64 != 56 { padded.append(0) }
        for shift in stride(from: 56, through: 0, by: -8) {
            padded.append(UInt8(truncatingIfNeeded: (UInt64(message.count) * 8) >> UInt64(shift)))
        }
        var state = initial
        for block in stride(from: 0, to: padded.count, by: 64) { compress(padded[block..<block + 64], &state) }
        return state.flatMap { word in
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
        }
    }

    private static func compress(_ block: ArraySlice<UInt8>, _ state: inout [UInt32]) {
        var words: [UInt32] = []
        for start in stride(from: block.startIndex, to: block.endIndex, by: 4) {
            words.append(block[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) })
        }
        func rotated(_ word: UInt32, _ bits: UInt32) -> UInt32 { word >> bits | word << (32 - bits) }
        for index in 16..<64 {
            let (early, late) = (words[index - 15], words[index - 2])
            let first = rotated(early, 7) ^ rotated(early, 18) ^ early >> 3
            let second = rotated(late, 17) ^ rotated(late, 19) ^ late >> 10
            words.append(words[index - 16] &+ first &+ words[index - 7] &+ second)
        }
        var work = state
        for index in 0..<64 {
            let mixed = rotated(work[4], 6) ^ rotated(work[4], 11) ^ rotated(work[4], 25)
            let choice = work[4] & work[5] ^ ~work[4] & work[6]
            let one = work[7] &+ mixed &+ choice &+ constants[index] &+ words[index]
            let turned = rotated(work[0], 2) ^ rotated(work[0], 13) ^ rotated(work[0], 22)
            let two = turned &+ (work[0] & work[1] ^ work[0] & work[2] ^ work[1] & work[2])
            work = [one &+ two, work[0], work[1], work[2], work[3] &+ one, work[4], work[5], work[6]]
        }
        for index in 0..<8 { state[index] &+= work[index] }
    }

    private static let initial: [UInt32] = [
        0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
    ]

    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}
