internal import PealCore

/// The number of devices that a review showed. Its form carries it back, so that what was typed is compared with what
/// was shown: an audience of a large app changes between the two.
struct ReviewedCount: Sendable {
    /// Audiences of this size or larger require typing their number before sending.
    static let typedMin = 10_000
    /// A difference below this needs no second review.
    private static let differenceMin = 10

    let devices: Int

    /// Whether sending needs another review, and why.
    enum Answer: Sendable, Equatable {
        case send
        /// Another number was typed.
        case wrongNumber
        /// The audience has changed by more than one percent since the review.
        case changed
    }

    init(devices: Int) { self.devices = devices }

    /// Reads the field `counted`, such as `12000.<MAC>`.
    /// - Parameter identity: the message's: see `ComposeForm.identity`.
    /// - Returns: nil if the session has not reviewed this message with this number.
    init?(_ text: String?, of identity: String, _ sessions: Sessions, _ session: Session?) {
        let halves = (text ?? "").split(separator: ".").map(String.init)
        guard let session, halves.count == 2, let devices = Int(halves[0]) else { return nil }
        self.devices = devices
        guard ConstantTime.areEqual(field(of: identity, sessions, session), text ?? "") else { return nil }
    }

    /// The value of the field `counted`.
    func field(of identity: String, _ sessions: Sessions, _ session: Session) -> String {
        "\(devices).\(sessions.mark("console count\n\(devices)\n\(identity)", session))"
    }

    /// - Parameters:
    ///   - typed: what was typed, with any separators; ignored after the review of a small audience.
    ///   - present: the present number of devices.
    func answer(typed: String?, present: Int) -> Answer {
        guard devices < Self.typedMin || Int((typed ?? "").filter(\.isWholeNumber)) == devices else {
            return .wrongNumber
        }
        let difference = abs(present - devices)
        return difference < Self.differenceMin || difference * 100 <= devices ? .send : .changed
    }
}
