internal import PealCore
internal import PealShapes

/// A device's registration as received.
struct DeviceDraft: Sendable {
    var device = NativeDeviceDraft()
    var deviceToken: String?
    var userProof: String?
    var keepsUser = false
    var sdkVersion: String?
    var capabilities: Installation.Capabilities?

    var omissions: InstallationVerbs.Omissions {
        var omissions: InstallationVerbs.Omissions = []
        if keepsUser, device.facts.userID == nil { omissions.insert(.user) }
        if device.facts.identifiers == nil { omissions.insert(.identifiers) }
        if device.facts.attributes == nil { omissions.insert(.attributes) }
        return omissions
    }
}

/// A sync as received.
struct DeviceSyncDraft: Sendable {
    var device = DeviceID(high: 0, low: 0)
    var sync = DeviceSync()
    /// Events that were read, or why they could not be.
    var events: [Result<DeviceEvent, PealError>] = []
}

/// A claim as received.
struct DeviceClaimDraft: Sendable {
    var device = DeviceID(high: 0, low: 0)
    var id = ClaimID(high: 0, low: 0)
    var rev: Int64 = 0
    var score: Double?
}

/// The requests of the device API. Unknown members are ignored, so that devices and servers of different versions work
/// together.
enum DeviceShapes {
    static let registration = ObjectShape(
        "DeviceRegistration", DeviceDraft(), "`user_id` needs `user_proof` unless the device has that user already.",
        rules: [NativeShapes.addressForm()]
    ) {
        Entry(required: "platform", platform) { $0.device.platform = $1 }
        Entry("environment", NativeShapes.environment) { $0.device.environment = $1 }
        Entry(required: "address", NativeShapes.address) { $0.device.address = $1 }
        Entry("device_token", .text()) { $0.deviceToken = $1 }
        Entry("user_proof", .text(characters: Limits.signedUserIDBytesMax)) { $0.userProof = $1 }
        Entry("keep_user", .flag) { $0.keepsUser = $1 ?? false }
        Entry("sdk_version", .text()) { $0.sdkVersion = $1 }
        Entry("capabilities", capabilities.shape) { $0.capabilities = $1 }
        Entry.including(NativeDeviceShapes.shared(identifiers: "DeviceIdentifiers"), in: \.device.facts)
    }

    private static let platform = Shape<Platform>.words(
        "DevicePlatform", Platform.addressable.filter { $0 != .windowsPhone }.map { ($0.rawValue, $0) })

    static let capabilities = ObjectShape("DeviceCapabilities", Installation.Capabilities.unstated) {
        for (name, capability) in capabilityNames {
            Entry(name, .flag) { capabilities, isOn in
                guard let isOn else { return }
                if isOn { capabilities.insert(capability) } else { capabilities.remove(capability) }
            }
        }
    }

    static let capabilityNames: [(String, Installation.Capabilities)] = [
        ("nse_ledger", .ledger), ("background", .background), ("alerts", .alerts),
        ("scheduled_summary", .scheduledSummary),
    ]

    static let sync = ObjectShape("DeviceSync", DeviceSyncDraft()) {
        Entry(required: "device", .id()) { $0.device = $1 }
        Entry(required: "have", holdings.shape) { ($0.sync.held, $0.sync.heldModels) = ($1.messages, $1.models) }
        Entry("wakes", .list(.integer(0...Int64.max), max: Limits.reportedWakesMax)) { $0.sync.wakes = $1 ?? [] }
        Entry("events", .list(anyEvent, max: Limits.deviceEventsMax)) { $0.events = $1 ?? [] }
        Entry("capabilities", capabilities.shape) { $0.sync.capabilities = $1 }
        Entry("cursor", cursor) { $0.sync.cursor = $1 }
    }

    /// What a device already has.
    struct Holdings: Sendable {
        var models: [String: Int64] = [:]
        var messages: [MessageID: Int64] = [:]
    }

    private static let holdings = ObjectShape("DeviceHoldings", Holdings()) {
        Entry(
            "models",
            .map(
                "DeviceHeldModels", .integer(0...Int64.max), 0...Limits.heldModelsMax, of: "models",
                key: {
                    $0.unicodeScalars.count <= Limits.nameCharactersMax ? nil : "the name of a campaign is too long"
                },
                keySchema: .text(0...Limits.nameCharactersMax))
        ) { $0.models = $1 ?? [:] }
        Entry(
            "msgs",
            .map(
                "DeviceHeldMessages", .integer(0...Int64.max), 0...Limits.heldMessagesMax, of: "messages",
                key: { MessageID($0) == nil ? "the name of a held message must be a UUID" : nil }, keySchema: .uuid)
        ) { held, given in
            held.messages = (given ?? [:]).reduce(into: [:]) { held, pair in
                if let id = MessageID(pair.key) { held[id] = pair.value }
            }
        }
    }

    /// `<milliseconds>_<message>`, as in `next`.
    static let cursor = Shape<String>.text(characters: 60).checked { text, reading throws(PealError) in
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...16).contains(parts[0].utf8.count),
            parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let deadline = Int64(parts[0]),
            let message = MessageID(parts[1])
        else {
            throw reading.refusal("must be `next` of the previous response")
        }
        return MomentCursor(deadline: Timestamp(milliseconds: deadline), message: message)
    }.stating(("pattern", "^[0-9]{1,16}_[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"))

    static func text(_ cursor: MomentCursor) -> String { "\(cursor.deadline.milliseconds)_\(cursor.message)" }

    static let claim = ObjectShape("DeviceClaim", DeviceClaimDraft()) {
        Entry(required: "device", .id()) { $0.device = $1 }
        Entry(required: "claim_id", .id()) { $0.id = $1 }
        Entry(required: "rev", .integer(0...Int64.max)) { $0.rev = $1 }
        Entry("score", share) { $0.score = $1 }
    }

    private static let share = Shape<Double>(
        read: { json, reading throws(PealError) in
            guard case .number = json else { throw reading.wrongType(json, "a number") }
            // 1e400 is a number that no Double can hold.
            guard let value = json.doubleValue, (0...1).contains(value) else {
                throw reading.refusal("must be a number from 0 to 1")
            }
            return value
        }, describe: { _ in Schema.number.with("minimum", 0).with("maximum", 1) })
}

/// Events. An unreadable one is refused individually.
extension DeviceShapes {
    static let events = Shape<[Result<DeviceEvent, PealError>]>.list(anyEvent, min: 1, max: Limits.deviceEventsMax)

    /// An error has the event's id before the message.
    private static let anyEvent = event.shape.checked { event, _ in event.withOwnMembers }.deferred()

    static let event = ObjectShape(
        "DeviceEvent", DeviceEvent(id: .init(high: 0, low: 0), kind: .received, at: Timestamp(milliseconds: 0))
    ) {
        Entry(required: "event_id", .id()) { $0.id = $1 }
        Entry(required: "type", .words("DeviceEventType", kinds)) { $0.kind = $1 }
        Entry(required: "at", .time) { $0.at = $1 }
        Entry("message", .id()) { $0.message = $1 }
        Entry("button", .text()) { $0.detail.button = $1 }
        Entry("content", .text()) { $0.detail.content = $1 }
        Entry("reason", .words("DeviceSuppression", suppressions)) { $0.detail.reason = $1 }
        Entry("snapshot", bytes(Limits.contextSnapshotBytesMax)) { $0.shared.snapshot = $1 }
        Entry("trace", bytes(Limits.contextTraceBytesMax)) { $0.shared.trace = $1 }
        Entry("hour", .integer(0...23)) { $0.shared.hour = $1 }
    }

    private static let kinds = DeviceEvent.Kind.allCases.map { ($0.name, $0) }
    private static let suppressions = ["duplicate", "revoked", "foreground", "no_permission", "late"].map { ($0, $0) }

    private static func bytes(_ max: Int) -> Shape<[UInt8]> {
        Shape<String>.text(characters: (max + 2) / 3 * 4).checked { text, reading throws(PealError) in
            guard let bytes = Base64URL.decode(text), bytes.count <= max else {
                throw reading.refusal("must be base64 of at most \(max) bytes")
            }
            return bytes
        }
    }
}

extension DeviceEvent {
    /// The event without the members that belong to other types of events.
    fileprivate var withOwnMembers: DeviceEvent {
        var event = DeviceEvent(id: id, kind: kind, message: message, at: at)
        switch kind {
        case .opened, .dismissed: event.detail.button = detail.button
        case .contentOpened: event.detail.content = detail.content
        case .suppressed: event.detail.reason = detail.reason
        case .shown: (event.shared.snapshot, event.shared.trace) = (shared.snapshot, shared.trace)
        case .appOpened: event.shared.hour = shared.hour
        case .received: break
        }
        return event
    }
}
