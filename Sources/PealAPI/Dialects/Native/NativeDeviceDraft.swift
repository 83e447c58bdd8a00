internal import PealCore
internal import PealShapes

/// A device registration or a change of a device, as a request contains it.
struct NativeDeviceDraft: Sendable {
    var id: DeviceID?
    var platform: Platform?
    var environment: Environment?
    /// As received; nil in a change that keeps the address.
    var address: JSON?
    var facts = Facts()

    struct Facts: Sendable {
        var userID: String?
        /// nil keeps the topics.
        var topics: [String]?
        var locale: String?
        var timeZone: String?
        /// nil keeps the identifiers.
        var identifiers: [String: String]?
        /// nil keeps the attributes.
        var attributes: JSON.Members?
        var detail = DeviceDetail()
    }
}

/// The shapes of requests to register or change a device.
enum NativeDeviceShapes {
    /// For a path that contains the device's id.
    static let draft = ObjectShape(
        "NativeDeviceDraft", NativeDeviceDraft(),
        rules: [NativeShapes.addressForm(), NativeShapes.environmentOfPlatform { ($0.platform, $0.environment) }]
    ) {
        Entry(required: "platform", NativeShapes.platform) { $0.platform = $1 }
        Entry("environment", NativeShapes.environment) { $0.environment = $1 }
        Entry(required: "address", NativeShapes.address) { $0.address = $1 }
        Entry.including(facts, in: \.facts)
    }

    static let draftWithID = ObjectShape("NativeDeviceWithID", NativeDeviceDraft()) {
        Entry("id", .id()) { $0.id = $1 }
        Entry.including(draft)
    }

    /// For changes only, which need no member. What is required here cannot be cleared.
    static let change = ObjectShape("NativeDeviceFields", NativeDeviceDraft()) {
        Entry(required: "platform", NativeShapes.platform) { $0.platform = $1 }
        Entry("environment", NativeShapes.environment) { $0.environment = $1 ?? .production }
        Entry(required: "address", NativeShapes.address) { $0.address = $1 }
        Entry.including(facts, in: \.facts)
    }

    private static let facts = ObjectShape("NativeDeviceFacts", NativeDeviceDraft.Facts()) {
        Entry.including(shared(identifiers: "NativeIdentifiers"))
        Entry("alias", .text()) { $0.detail.alias = $1 }
        Entry("vendor_os", .text()) { $0.detail.vendorOS = $1 }
    }

    /// Members that devices may also set themselves.
    /// - Parameter name: of the component of identifiers, which is as strict as the dialect.
    static func shared(identifiers name: String) -> ObjectShape<NativeDeviceDraft.Facts> {
        ObjectShape("NativeSharedFacts", NativeDeviceDraft.Facts()) {
            Entry("user_id", .text()) { $0.userID = $1 }
            Entry("topics", .topicsOfDevice()) { $0.topics = $1 ?? [] }
            Entry("locale", locale) { $0.locale = $1 }
            Entry("time_zone", timeZone) { $0.timeZone = $1 }
            Entry("os_version", .text()) { $0.detail.osVersion = $1 }
            Entry("app_version", .text()) { $0.detail.appVersion = $1 }
            Entry("model", .text()) { $0.detail.model = $1 }
            Entry("manufacturer", .text()) { $0.detail.manufacturer = $1 }
            Entry("identifiers", identifiers(name).shape) { $0.identifiers = $1 ?? [:] }
            Entry("attributes", attributes) { $0.attributes = $1 ?? .init() }
        }
    }

    static let locale = Shape.text(characters: Limits.localeCharactersMax).matching(
        "[A-Za-z0-9_-]+", "must be a tag such as de or de-AT"
    ) { $0.isLocaleName }

    static let timeZone = Shape.text(characters: Limits.timeZoneCharactersMax).matching(
        "[A-Za-z0-9/_+-]+", "must be a name such as Europe/Vienna"
    ) { $0.utf8.allSatisfy { $0.isASCIIAlphanumeric || "/_+-".utf8.contains($0) } }

    private static func identifiers(_ name: String) -> ObjectShape<[String: String]> {
        ObjectShape(name, [String: String]()) {
            for kind in DeviceIdentifier.Kind.common { Entry(kind.rawValue, .text()) { $0[kind.rawValue] = $1 } }
            for kind in Dialects.deviceIdentifiers { Entry(kind.rawValue, textOrNumber) { $0[kind.rawValue] = $1 } }
        }
    }

    private static let textOrNumber = Shape<String>(
        read: { json, reading throws(PealError) in
            if let number = json.integerValue { return String(number) }
            return try Shape.text().read(json, &reading)
        },
        describe: { describing in
            Shape.text().describe(describing).with("type", ["string", "integer"])
                .with("minimum", .integer(Int64.min)).with("maximum", .integer(Int64.max))
        })

    private static let attributes = Shape<JSON.Members>(
        read: { json, reading throws(PealError) in
            guard case .object(let members) = json else { throw reading.wrongType(json, "an object") }
            guard json.bytes.count <= Limits.attributesBytesMax else {
                throw reading.refusal("must be at most \(Limits.attributesBytesMax) bytes long")
            }
            try reading.checkContent(json, allowing: [0x09, 0x0A])
            return members
        },
        describe: { _ in
            .component(
                "NativeAttributes",
                Schema.object.with("additionalProperties", true).described(
                    "At most \(Limits.attributesBytesMax) bytes of compact JSON."))
        })
}

extension NativeDeviceDraft {
    func registration(id: DeviceID, _ rules: AddressRules) throws(PealError) -> DeviceRegistration {
        guard let platform else { throw .missing("platform") }
        let address = try rules.address(
            self.address ?? .null, platform: platform, environment: environment ?? .production)
        return registration(id: id, address: address)
    }

    /// The device's current fields, over which a change is merged.
    init(changing device: Device) {
        facts.userID = device.userID
        facts.locale = device.locale
        facts.timeZone = device.timeZone
        facts.detail = device.detail
    }

    /// The device's fields after this change.
    /// - Throws: `conflict` for a retired device without a new address: another device may have its old one.
    func registration(changing device: Device, _ rules: AddressRules) throws(PealError) -> DeviceRegistration {
        if let platform, platform != device.platform {
            throw .invalid("platform", "a device cannot change its platform")
        }
        if let given = self.environment {
            try NativeShapes.check(given, of: device.platform, at: "environment")
        }
        let environment = environment ?? device.environment
        var changed = self
        var address = device.address
        if let given = self.address {
            address = try rules.address(given, platform: device.platform, environment: environment)
            changed.facts.detail.addressAsSent = nil
        } else if device.retirement != nil {
            throw PealError(.conflict, "the device is retired; give its address to register it again")
        } else if environment != device.environment {
            address = Address(route: Route(device.platform, environment), bytes: device.address.bytes)
        }
        return changed.registration(id: device.id, address: address)
    }

    private func registration(id: DeviceID, address: Address) -> DeviceRegistration {
        var registration = DeviceRegistration(
            id: id, address: address, userID: facts.userID, topics: facts.topics, locale: facts.locale,
            timeZone: facts.timeZone, detail: facts.detail)
        if let identifiers = facts.identifiers { registration.detail.identifiers = identifiers }
        if let attributes = facts.attributes { registration.detail.attributes = attributes }
        if let text = self.address?.stringValue, address.json != .string(text) {
            registration.detail.addressAsSent = text
        }
        registration.isInteractive = Interactivity.isInteractive(
            platform: address.route.platform, osVersion: registration.detail.osVersion)
        return registration
    }
}

extension String {
    /// Whether this has the form of a language tag (RFC 5646); `_` may replace `-`.
    var isLocaleName: Bool {
        (1...Limits.localeCharactersMax).contains(utf8.count)
            && utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_".utf8.contains($0) }
    }
}
