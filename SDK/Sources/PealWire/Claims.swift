/// The body of `POST messages/{id}/claim`.
public struct ClaimRequest: Sendable, Hashable, Codable {
    public var device: String
    /// Stored before it is sent; the same id gets the same answer.
    public var claimID: String
    public var rev: Int
    public var score: Double?

    /// A claim of a revision.
    public init(device: String, claimID: String, rev: Int, score: Double? = nil) {
        (self.device, self.claimID, self.rev, self.score) = (device, claimID, rev, score)
    }

    enum CodingKeys: String, CodingKey {
        case device, rev, score
        case claimID = "claim_id"
    }
}

/// The response to a claim: 200 if granted, otherwise 409.
public struct ClaimAnswer: Sendable, Hashable, Codable {
    public var granted: Bool
    public var showBy: WireTime?
    public var now: WireTime
    public var reason: ClaimRefusal?

    /// A granted claim.
    public init(showBy: WireTime, now: WireTime) {
        (granted, self.showBy, self.now) = (true, showBy, now)
    }

    /// A refused claim.
    public init(reason: ClaimRefusal, now: WireTime) {
        (granted, self.reason, self.now) = (false, reason, now)
    }

    enum CodingKeys: String, CodingKey {
        case granted, now, reason
        case showBy = "show_by"
    }
}

/// Why a claim was refused.
public enum ClaimRefusal: String, Sendable, Hashable, Codable, CaseIterable {
    case cancelled, superseded, fallback, claimed, expired, closed

    /// A reason that this version does not know counts as `closed`.
    public init(from decoder: any Decoder) throws {
        self = Self(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .closed
    }
}

/// The body of a refusal.
public struct ErrorAnswer: Sendable, Hashable, Codable {
    public var error: Detail

    /// What was refused, and the field at fault.
    public struct Detail: Sendable, Hashable, Codable {
        public var code: String
        public var message: String?
        public var field: String?

        /// A refusal with its code.
        public init(code: String, message: String? = nil, field: String? = nil) {
            (self.code, self.message, self.field) = (code, message, field)
        }
    }

    /// A refusal.
    public init(_ error: Detail) { self.error = error }
}
