/// A signed model as phones fetch it (docs/moments.md, "The model file"). The core does not compute with models: to it,
/// the payload is JSON.
package struct ModelRelease: Sendable, Hashable {
    package var draft: Draft
    /// Names the key of `signature`.
    package var keyID: String
    /// Ed25519, of `draft.payload`.
    package var signature: [UInt8]

    package init(_ draft: Draft, keyID: String, signature: [UInt8]) {
        self.draft = draft
        self.keyID = keyID
        self.signature = signature
    }

    /// A model before it is signed.
    package struct Draft: Sendable, Hashable {
        /// Empty for the model of all campaigns.
        package var campaign: String
        /// Higher than every earlier one of the campaign.
        package var version: Int64
        package var trainedAt: Timestamp
        package var expiresAt: Timestamp
        /// The model that this one was derived from.
        package var parent: String?
        /// The labels it was trained with; 0 for the weights of all campaigns, which withdraw a campaign's own model.
        package var labels: Int
        /// The JSON that is signed.
        package var payload: [UInt8]

        package init(
            campaign: String, version: Int64, trainedAt: Timestamp, expiresAt: Timestamp, parent: String?, labels: Int,
            payload: [UInt8]
        ) {
            self.campaign = campaign
            self.version = version
            self.trainedAt = trainedAt
            self.expiresAt = expiresAt
            self.parent = parent
            self.labels = labels
            self.payload = payload
        }

        /// Whether it replaced a campaign's own model with the weights of all campaigns.
        package var isWithdrawal: Bool { labels == 0 }

        /// The version of a campaign's next model: the time, in seconds since 1970, so that versions also grow when the
        /// earlier ones were deleted or the database was restored from a backup.
        package static func version(after former: Int64?, at now: Timestamp) -> Int64 {
            max((former ?? 0) + 1, now.milliseconds / 1000)
        }
    }

    /// The file.
    package var json: JSON {
        [
            "v": 1, "alg": "Ed25519", "kid": .string(keyID), "payload": .string(Base64URL.padded(draft.payload)),
            "sig": .string(Base64URL.padded(signature)),
        ]
    }

    /// The same model as a new version, because phones refuse older ones.
    /// - Throws: `internal` for a payload that is not an object.
    package func reissued(after newest: Int64, now: Timestamp) throws -> Draft {
        guard case .object(var members) = try JSONParser.parse(draft.payload, isStored: true) else {
            throw PealError(.internal, "a stored model cannot be read")
        }
        var next = draft
        next.version = Draft.version(after: newest, at: now)
        next.trainedAt = now
        next.expiresAt = now + .seconds(Limits.modelLifeSeconds)
        next.parent = "\(draft.campaign.isEmpty ? "global" : draft.campaign)@\(draft.version)"
        members["version"] = .integer(next.version)
        members["trained_at"] = .integer(next.trainedAt.milliseconds)
        members["expires"] = .integer(next.expiresAt.milliseconds)
        // Phones do not use it, and with a long name the file would become larger than they accept.
        members["parent"] = nil
        next.payload = JSON.object(members).bytes
        return next
    }
}

/// A public key that an app's models are signed with.
package struct ModelKey: Sendable, Hashable {
    package let id: String
    /// Ed25519, 32 bytes.
    package let publicKey: [UInt8]

    package init(id: String, publicKey: [UInt8]) {
        self.id = id
        self.publicKey = publicKey
    }
}

/// The state of a campaign's training.
package struct CampaignLearning: Sendable, Hashable {
    /// Empty for the model of all campaigns of the app.
    package var campaign: String
    /// The number of displays at moments that phones chose, whose outcome is known. It only grows.
    package var displays = 0
    /// How many of these displays were opened.
    package var opens = 0
    package var trainedAt: Timestamp?
    /// The number of labels at the last training.
    package var labels = 0
    /// Consecutive models that were not good enough.
    package var failures = 0
    /// Whether the campaign's newest model is its own; otherwise it has none, or one with the weights of all campaigns.
    package var hasOwnModel = false
    /// Whether people or contexts have changed since the model was trained.
    package var hasDrifted = false
    /// Until when no model replaces the current one after a rollback; nil without a rollback.
    package var heldUntil: Timestamp?
    /// Why the last model was not released; empty if it was.
    package var objections: [String] = []
    /// The off-policy estimate of the last model; nil if there were too few soft messages.
    package var offPolicy: OffPolicyGain?

    package init(campaign: String) { self.campaign = campaign }

    /// Whether a rollback keeps training from replacing the model. An end further ahead than any rollback sets is from
    /// before the clock was set back.
    package func isHeld(at now: Timestamp) -> Bool {
        heldUntil.map { $0 > now && $0 - now <= .seconds(Limits.modelHoldSeconds) } ?? false
    }

    /// The objection to a model that is good, but whose file phones would refuse because of the campaign's long name.
    package static let tooLarge = "too_large"

    /// Whether the last model was good, so that other campaigns may learn from this one.
    package var hasGoodModel: Bool { failures == 0 && (hasOwnModel || objections == [Self.tooLarge]) }
}

/// An off-policy estimate: how much a model would have gained over what phones did with soft messages.
package struct OffPolicyGain: Sendable, Hashable {
    /// In millionths of opens per message.
    package let gain: Int64
    /// The standard error of `gain`, in the same unit.
    package let error: Int64
    /// Soft messages that were evaluated.
    package let messages: Int64
    /// How many messages of the model itself would be equally informative.
    package let effectiveMessages: Int64

    package init(gain: Int64, error: Int64, messages: Int64, effectiveMessages: Int64) {
        (self.gain, self.error, self.messages, self.effectiveMessages) = (gain, error, messages, effectiveMessages)
    }
}

/// A soft message of a user who shares context: what the phone computed at each wake until the message was shown, and
/// whether it was opened. Nothing in it identifies user or device.
package struct MomentJourney: Sendable, Hashable {
    package let campaign: String
    /// As the phone encoded it.
    package let trace: [UInt8]
    /// From the start of the window until the server would send the message.
    package let windowMinutes: Int
    /// Whether the phone showed it; otherwise the server sent it.
    package let isShownByPhone: Bool
    package let isOpened: Bool

    package init(campaign: String, trace: [UInt8], windowMinutes: Int, isShownByPhone: Bool, isOpened: Bool) {
        (self.campaign, self.trace, self.windowMinutes) = (campaign, trace, windowMinutes)
        (self.isShownByPhone, self.isOpened) = (isShownByPhone, isOpened)
    }
}

/// A message that a phone showed at a moment of its choice, in the context that its user shares, and whether it was
/// opened. Nothing in it identifies user or device.
package struct MomentLabel: Sendable, Hashable {
    package let campaign: String
    /// The context as the phone encoded it.
    package let snapshot: [UInt8]
    package let exploration: Exploration
    package let shownAt: Timestamp
    package let isOpened: Bool

    package init(
        campaign: String, snapshot: [UInt8], exploration: Exploration, shownAt: Timestamp, isOpened: Bool
    ) {
        self.campaign = campaign
        self.snapshot = snapshot
        self.exploration = exploration
        self.shownAt = shownAt
        self.isOpened = isOpened
    }
}

/// A page of what an app's users shared, newest first.
package struct ContextPage<Item: Sendable>: Sendable {
    package let items: [Item]
    /// Where the next page begins; nil if there is none.
    package let next: ContextCursor?

    package init(items: [Item], next: ContextCursor?) { (self.items, self.next) = (items, next) }
}

/// A position in the list of an app's shared contexts, newest first.
package struct ContextCursor: Sendable, Hashable {
    package let at: Timestamp
    package let device: DeviceKey
    package let id: Identifier<DeviceEvent>

    package init(at: Timestamp, device: DeviceKey, id: Identifier<DeviceEvent>) {
        self.at = at
        self.device = device
        self.id = id
    }
}

/// How a phone chooses a message's moment. The raw value is stored, the name is part of the API.
package enum Exploration: Int64, CaseIterable, Sendable, Hashable {
    /// By the model.
    case greedy = 0
    /// At random around the model's choice.
    case soft = 1
    /// At a random moment of the window.
    case uniform = 2

    package var name: String {
        switch self {
        case .greedy: "greedy"
        case .soft: "soft"
        case .uniform: "uniform"
        }
    }

    private static let uniformShare = 0.02
    private static let softShare = 0.2

    /// How a user's message is shown: always at random while its campaign calibrates, mostly by the model afterwards.
    package init(of message: MessageID, userID: String, in phase: CampaignPhase) {
        let draw = Double(Self.mixed("explore\u{1F}\(message)\u{1F}\(userID)") >> 11) / 9_007_199_254_740_992
        switch phase {
        case .calibrating: self = .uniform
        case .live where draw < Self.uniformShare: self = .uniform
        case .live where draw < Self.uniformShare + Self.softShare: self = .soft
        case .live: self = .greedy
        }
    }

    /// The salt of a user's draws: users of one message must not all draw the same.
    package static func salt(of userID: String) -> String {
        Hex.encode((0..<8).map { UInt8(truncatingIfNeeded: mixed("salt\u{1F}\(userID)") >> UInt64(56 - 8 * $0)) })
    }

    /// FNV-1a, then the last step of SplitMix64.
    private static func mixed(_ text: String) -> UInt64 {
        let hash = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let first = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        let second = (first ^ (first >> 27)) &* 0x94D0_49BB_1331_11EB
        return second ^ (second >> 31)
    }
}

/// How a campaign's messages are shown while little is known about it.
package enum CampaignPhase: String, Sendable, Hashable {
    /// At random moments, to collect labels at all hours.
    case calibrating
    /// At good moments.
    case live

    /// A first campaign needs this many displays whose outcome is known, or `firstOpens` opens.
    package static let firstDisplays = 2000
    /// Opens that also end the calibration of a first campaign.
    static let firstOpens = 100
    /// Displays that every campaign with a window above `longWindow` needs, because its hours may differ from all
    /// others.
    static let longWindowDisplays = 500
    /// Longer windows count as long.
    static let longWindow: Duration = .seconds(8 * 3600)

    /// The phase of a message.
    /// - Parameters:
    ///   - hasPrior: whether campaigns of the app have trained a model for all.
    ///   - displays: of the campaign, with known outcome.
    package init(window: Duration, hasPrior: Bool, displays: Int, opens: Int) {
        if !hasPrior, displays < Self.firstDisplays, opens < Self.firstOpens {
            self = .calibrating
        } else if window > Self.longWindow, displays < Self.longWindowDisplays {
            self = .calibrating
        } else {
            self = .live
        }
    }
}
