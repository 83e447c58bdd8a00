/// The body of `POST register`: everything that a device says about itself.
public struct Registration: Sendable, Hashable, Codable {
    public var platform: String
    public var environment: String?
    public var address: DeviceAddress
    /// The current device token, with which device and user stay the same.
    public var deviceToken: String?
    public var userID: String?
    /// A signed statement of the app's backend that the person is `userID`.
    public var userProof: String?
    /// Whether a device with a valid token keeps its user although `userID` is nil.
    public var keepsUser: Bool?
    /// nil keeps the topics of a known device.
    public var topics: [String]?
    /// This and the following, except `capabilities`: nil keeps what the server knows of a device with a valid token.
    public var identifiers: DeviceIdentifiers?
    public var locale: String?
    public var timeZone: String?
    public var osVersion: String?
    public var appVersion: String?
    public var sdkVersion: String?
    public var model: String?
    public var manufacturer: String?
    public var attributes: [String: JSONValue]?
    public var capabilities: Capabilities?

    /// A registration of an address alone.
    public init(platform: String, environment: String? = nil, address: DeviceAddress) {
        self.platform = platform
        self.environment = environment
        self.address = address
    }

    enum CodingKeys: String, CodingKey {
        case platform, environment, address, topics, identifiers, locale, model, manufacturer, attributes, capabilities
        case deviceToken = "device_token"
        case userID = "user_id"
        case userProof = "user_proof"
        case keepsUser = "keep_user"
        case timeZone = "time_zone"
        case osVersion = "os_version"
        case appVersion = "app_version"
        case sdkVersion = "sdk_version"
    }
}

/// Where a device is reached.
public enum DeviceAddress: Sendable, Hashable, Codable {
    /// An APNs device token in hexadecimal digits, an FCM registration token or a channel URI.
    case text(String)
    /// A browser's push subscription.
    case subscription(WebSubscription)

    /// Reads a text or an object.
    public init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            self = .text(text)
        } else {
            self = .subscription(try WebSubscription(from: decoder))
        }
    }

    /// Writes a text or an object.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .text(let text):
            var container = encoder.singleValueContainer()
            try container.encode(text)
        case .subscription(let subscription): try subscription.encode(to: encoder)
        }
    }
}

/// A push subscription as browsers give it (W3C Push API, `PushSubscription.toJSON`).
public struct WebSubscription: Sendable, Hashable, Codable {
    public var endpoint: String
    public var keys: Keys
    /// The VAPID key that it was created with, base64url.
    public var applicationServerKey: String?

    /// The browser's public key and its shared secret, base64url (RFC 8291).
    public struct Keys: Sendable, Hashable, Codable {
        public var p256dh: String
        public var auth: String

        /// Keys as the browser gives them.
        public init(p256dh: String, auth: String) {
            self.p256dh = p256dh
            self.auth = auth
        }
    }

    /// A subscription of the browser.
    public init(endpoint: String, keys: Keys, applicationServerKey: String? = nil) {
        self.endpoint = endpoint
        self.keys = keys
        self.applicationServerKey = applicationServerKey
    }

    enum CodingKeys: String, CodingKey {
        case endpoint, keys
        case applicationServerKey = "application_server_key"
    }
}

/// Ids of the device in other systems. An app sets only what it may collect.
public struct DeviceIdentifiers: Sendable, Hashable, Codable {
    public var idfa: String?
    public var idfv: String?
    public var advertisingID: String?
    public var androidID: String?
    public var serialID: String?
    public var devtodevID: String?

    /// No identifiers.
    public init() {}

    enum CodingKeys: String, CodingKey {
        case idfa, idfv
        case advertisingID = "advertising_id"
        case androidID = "android_id"
        case serialID = "serial_id"
        case devtodevID = "devtodev_id"
    }
}

/// What the device can currently do.
public struct Capabilities: Sendable, Hashable, Codable {
    /// Whether app and notification service extension share a ledger of what was shown.
    public var nseLedger: Bool?
    /// Whether the system grants background time.
    public var background: Bool?
    /// Whether the person allows notifications.
    public var alerts: Bool?
    /// Whether the system holds notifications back for a summary.
    public var scheduledSummary: Bool?

    /// Capabilities; nil counts as false, and as true for `alerts`.
    public init(
        nseLedger: Bool? = nil, background: Bool? = nil, alerts: Bool? = nil, scheduledSummary: Bool? = nil
    ) {
        (self.nseLedger, self.background, self.alerts) = (nseLedger, background, alerts)
        self.scheduledSummary = scheduledSummary
    }

    enum CodingKeys: String, CodingKey {
        case background, alerts
        case nseLedger = "nse_ledger"
        case scheduledSummary = "scheduled_summary"
    }
}

/// The response to `POST register`.
public struct RegistrationAnswer: Sendable, Hashable, Codable {
    public var device: String
    public var deviceToken: String
    /// The name that models carry.
    public var app: String
    public var userID: String?
    public var now: WireTime
    public var modelKeys: [ModelKey]?

    /// A response that the server composes.
    public init(
        device: String, deviceToken: String, app: String, userID: String?, now: WireTime, modelKeys: [ModelKey]? = nil
    ) {
        (self.device, self.deviceToken, self.app, self.userID) = (device, deviceToken, app, userID)
        (self.now, self.modelKeys) = (now, modelKeys)
    }

    enum CodingKeys: String, CodingKey {
        case device, app, now
        case deviceToken = "device_token"
        case userID = "user_id"
        case modelKeys = "model_keys"
    }
}

/// A public key that model files are signed with.
public struct ModelKey: Sendable, Hashable, Codable {
    public var kid: String
    /// Ed25519, 32 bytes in base64.
    public var publicKey: String

    /// A key with its id.
    public init(kid: String, publicKey: String) {
        self.kid = kid
        self.publicKey = publicKey
    }

    enum CodingKeys: String, CodingKey {
        case kid
        case publicKey = "public_key"
    }
}
