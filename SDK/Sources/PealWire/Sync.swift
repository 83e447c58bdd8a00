/// The body of `POST sync`.
public struct SyncRequest: Sendable, Hashable, Codable {
    public var device: String
    public var have: Holdings
    /// Numbers of the wake-ups that arrived.
    public var wakes: [Int]?
    public var events: [DeviceEvent]?
    public var capabilities: Capabilities?
    /// `next` of the previous response.
    public var cursor: String?

    /// What the device already has.
    public struct Holdings: Sendable, Hashable, Codable {
        /// Versions of models by campaign; `""` is the model of all campaigns.
        public var models: [String: Int]
        /// Revisions of messages by id.
        public var msgs: [String: Int]

        /// Holdings, none unless given.
        public init(models: [String: Int] = [:], msgs: [String: Int] = [:]) {
            self.models = models
            self.msgs = msgs
        }
    }

    /// A request without changes.
    public init(device: String, have: Holdings = Holdings()) {
        self.device = device
        self.have = have
    }
}

/// The response to `POST sync`.
public struct SyncAnswer: Sendable, Hashable, Codable {
    public var now: WireTime
    public var messages: [OpenMessage]?
    /// Messages that are no longer open for this device.
    public var revoked: [String]?
    public var models: [SignedModel]?
    public var rules: DisplayRules?
    public var refused: [RefusedEvent]?
    /// The cursor with which to request the rest; nil if this is all.
    public var next: String?

    /// A response without changes.
    public init(now: WireTime) { self.now = now }

    /// Messages and models that cannot be read, such as those of a later server, are left out: the others still count.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        now = try container.decode(WireTime.self, forKey: .now)
        messages = try container.decodeIfPresent(Readable<OpenMessage>.self, forKey: .messages)?.elements
        revoked = try container.decodeIfPresent([String].self, forKey: .revoked)
        models = try container.decodeIfPresent(Readable<SignedModel>.self, forKey: .models)?.elements
        rules = try? container.decodeIfPresent(DisplayRules.self, forKey: .rules)
        refused = try? container.decodeIfPresent([RefusedEvent].self, forKey: .refused)
        next = try container.decodeIfPresent(String.self, forKey: .next)
    }
}

/// The elements of a list that can be read.
private struct Readable<Element: Decodable>: Decodable {
    let elements: [Element]

    init(from decoder: any Decoder) throws {
        elements = try [Attempt](from: decoder).compactMap(\.element)
    }

    private struct Attempt: Decodable {
        let element: Element?

        init(from decoder: any Decoder) { element = try? Element(from: decoder) }
    }
}

/// A message whose moment is open.
public struct OpenMessage: Sendable, Hashable, Codable {
    public var id: String
    public var rev: Int
    public var campaign: String?
    /// Whether devices may claim it; absent counts as true.
    public var claimable: Bool?
    public var start: WireTime
    /// The instant from which the server sends the message itself.
    public var fallbackAt: WireTime
    /// `greedy`, `soft` or `uniform`.
    public var explore: String?
    public var salt: String?
    /// Whether quiet hours and frequency cap do not apply; absent counts as false.
    public var transactional: Bool?
    public var content: MessageContent

    /// A claimable message.
    public init(id: String, rev: Int, start: WireTime, fallbackAt: WireTime, content: MessageContent) {
        (self.id, self.rev, self.start, self.fallbackAt, self.content) = (id, rev, start, fallbackAt, content)
    }

    enum CodingKeys: String, CodingKey {
        case id, rev, campaign, claimable, start, explore, salt, transactional, content
        case fallbackAt = "fallback_at"
    }
}

/// What is shown, in the device's language.
public struct MessageContent: Sendable, Hashable, Codable {
    public var title: String?
    public var subtitle: String?
    public var body: String?
    public var imageURL: String?
    public var badge: Int?
    public var sound: String?
    public var threadID: String?
    public var category: String?
    /// `passive`, `active` or `time_sensitive`.
    public var interruptionLevel: String?
    /// The members of a push besides `aps`.
    public var data: [String: JSONValue]?

    /// Content with only a body.
    public init(title: String? = nil, body: String? = nil) {
        self.title = title
        self.body = body
    }

    enum CodingKeys: String, CodingKey {
        case title, subtitle, body, badge, sound, category, data
        case imageURL = "image_url"
        case threadID = "thread_id"
        case interruptionLevel = "interruption_level"
    }
}

/// A signed model file, as `PealMoments.ModelFile` reads it.
public struct SignedModel: Sendable, Hashable, Codable {
    public var v: Int
    public var alg: String
    public var kid: String
    /// Base64 of the signed bytes.
    public var payload: String
    /// Base64 of the signature.
    public var sig: String

    /// A file with these parts.
    public init(v: Int, alg: String, kid: String, payload: String, sig: String) {
        (self.v, self.alg, self.kid, self.payload, self.sig) = (v, alg, kid, payload, sig)
    }
}

/// Limits that the device keeps when it chooses moments.
public struct DisplayRules: Sendable, Hashable, Codable {
    public var spacingSeconds: Int?
    public var frequencyCap: Cap?
    public var quietHours: QuietTime?
    public var wakeIntervalSeconds: Int?

    /// Hours such as `22:00` to `07:00`, in the device's time zone.
    public struct QuietTime: Sendable, Hashable, Codable {
        public var from: String
        public var to: String

        /// Quiet hours as the server writes them.
        public init(from: String, to: String) {
            self.from = from
            self.to = to
        }
    }

    /// How many messages may be shown in any period of that many hours.
    public struct Cap: Sendable, Hashable, Codable {
        public var messages: Int
        public var hours: Int

        /// A cap as the server writes it.
        public init(messages: Int, hours: Int) {
            self.messages = messages
            self.hours = hours
        }
    }

    /// No limits except the SDK's own.
    public init() {}

    enum CodingKeys: String, CodingKey {
        case spacingSeconds = "spacing_seconds"
        case frequencyCap = "frequency_cap"
        case quietHours = "quiet_hours"
        case wakeIntervalSeconds = "wake_interval_seconds"
    }
}
