package import PealWire

/// One message on this device: its content and its stage. docs/states.md draws the stages.
package struct LedgerEntry: Sendable, Hashable, Codable {
    package enum Stage: String, Sendable, Hashable, Codable, CaseIterable {
        /// Waits for its moment.
        case held
        /// A claim was stored and may have been sent.
        case asked
        /// The claim is granted; the notification may be on the screen.
        case intent
        /// The notification was displayed. From here on nothing alerts for the message again.
        case shown, opened, dismissed
        /// The message does not, or no longer, belong to this device.
        case gone

        package var wasShown: Bool { self == .shown || self == .opened || self == .dismissed }
    }

    package let id: String
    /// The user whom it belongs to; empty for a device without one.
    package let owner: String
    package var stage: Stage
    /// While held, asked or in intent.
    package var message: OpenMessage?
    /// When the moment was considered, by the server's clock.
    package var looks: [Int64] = []
    /// What was computed then, `TracedWake.byteCount` bytes each; empty without context sharing, and for a message that
    /// is not soft.
    package var trace: [UInt8] = []
    /// Whether the trace has no room for later wakes.
    var isTraceCut: Bool?
    package var claim: Claim?
    /// Since when it has this stage, in milliseconds by the server's clock.
    package var since: Int64

    package struct Claim: Sendable, Hashable, Codable {
        package let id: String
        package let rev: Int
        package var score: Double?
        /// The context as the person agreed to share it, base64.
        package var snapshot: String?
    }

    package init(id: String, owner: String, stage: Stage, message: OpenMessage? = nil, since: Int64) {
        (self.id, self.owner, self.stage, self.message, self.since) = (id, owner, stage, message, since)
    }

    var isSoft: Bool { message?.explore == "soft" }

    /// The trace as it is reported, base64. The message is shown at its last wake, so a trace that was cut off would
    /// name the wrong one.
    var wholeTrace: String? { !isSoft || trace.isEmpty || isTraceCut == true ? nil : Base64.encode(trace) }

    /// An entry that records only that the message was displayed, or may have been, without its content and user. nil
    /// if it was not displayed.
    var display: Self? {
        guard stage.wasShown || stage == .intent else { return nil }
        return Self(id: id, owner: "", stage: stage, since: since)
    }

    /// No step was taken later than now.
    mutating func limit(to now: Int64) { since = min(since, now) }

    mutating func enter(_ stage: Stage, at now: Int64) {
        self.stage = stage
        since = now
        if stage.wasShown || stage == .gone {
            message = nil
            claim = nil
            looks = []
            (trace, isTraceCut) = ([], nil)
        }
    }
}

/// How an alert push is presented.
package enum AlertVerdict: Sendable, Hashable {
    /// Unchanged.
    case show
    /// Without sound or banner, because this message has alerted already or may have.
    case silence
    /// The app is displaying it at this moment: check again.
    case wait
}

/// Base64 of RFC 4648 §4, for the few bytes that events carry.
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

    package static func encode(_ bytes: [UInt8]) -> String {
        var text = ""
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let chunk = bytes[start..<min(start + 3, bytes.count)]
            let word = chunk.enumerated().reduce(0) { $0 | Int($1.element) << (16 - 8 * $1.offset) }
            for digit in 0..<4 {
                text.append(digit <= chunk.count ? alphabet[word >> (18 - 6 * digit) & 63] : "=")
            }
        }
        return text
    }
}
