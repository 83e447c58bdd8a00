internal import PealCore
internal import PealShapes

/// A registration as a device sends it. If the API allows an empty string, it is kept and echoed.
struct PivotalRegistrationDraft: Sendable {
    var deviceToken: String?
    var os: String?
    var userID: String?
    var clearsUser = false
    var tags: Located<Tags>?
    var osVersion: String?
    var alias: String?
    var model: String?
    var manufacturer: String?

    enum Tags: Sendable {
        case all([String])
        case change(TagChange)
    }

    struct TagChange: Sendable {
        var subscribe: [String] = []
        var unsubscribe: [String] = []
    }
}

/// The shape of a registration.
enum PivotalRegistrationShapes {
    static let whole = ObjectShape("PivotalRegistration", PivotalRegistrationDraft()) {
        Entry(required: "registration_token", deviceToken) { $0.deviceToken = $1 }
        Entry.including(facts)
    }

    static let change = ObjectShape("PivotalRegistrationChange", PivotalRegistrationDraft()) {
        Entry("registration_token", deviceToken) { $0.deviceToken = $1 }
        Entry.including(facts)
    }

    private static let deviceToken = Shape.text(bytes: Limits.addressBytesMax)

    private static let facts = ObjectShape("PivotalDeviceFacts", PivotalRegistrationDraft()) {
        Entry("os", Shape.text().described { _ in .caseless(PivotalPlatform.words) }) { $0.os = $1 ?? "" }
        // Newer versions call tags topics.
        Entry("tags", or: "topics", is: tags) { $0.tags = $1 }
        Entry("custom_user_id", userID) { ($0.userID, $0.clearsUser) = ($1, $1 == nil) }
        Entry("os_version", .text()) { $0.osVersion = $1 ?? "" }
        Entry("device_alias", .text()) { $0.alias = $1 ?? "" }
        Entry("device_model", .text()) { $0.model = $1 ?? "" }
        Entry("device_manufacturer", .text()) { $0.manufacturer = $1 ?? "" }
    }

    private static let userID = Shape.text(bytes: Limits.signedUserIDBytesMax).described(
        "Signed, unless the app's setting says otherwise.")

    /// A list replaces all tags; an object adds and removes tags.
    private static let tags: Shape<Located<PivotalRegistrationDraft.Tags>> = Shape<PivotalRegistrationDraft.Tags>
        .either(
            "PivotalTags", names.map { .all($0) }, or: tagChange.shape.map { .change($0) }
        ).located()

    private static let names = PivotalShapes.topicsOfDevice

    private static let tagChange = ObjectShape("PivotalTagChange", PivotalRegistrationDraft.TagChange()) {
        Entry("subscribe", names) { $0.subscribe = $1 ?? [] }
        Entry("unsubscribe", PivotalShapes.topicNames(max: Limits.topicsPerDeviceMax)) { $0.unsubscribe = $1 ?? [] }
    }
}

/// Builds the stored registration from what a device sends, and writes devices as JSON.
struct PivotalDevice {
    let rules: AddressRules
    /// The platform of the key that authorized the request.
    let platform: Platform
    let environment: Environment

    /// The stored registration after the request. A POST clears every field that it does not contain.
    /// - Parameter userID: the user's id, already verified; nil if the request contains none.
    func registration(
        _ given: PivotalRegistrationDraft, id: DeviceID, over known: Device?, userID: String?, isWhole: Bool,
        now: Timestamp
    ) throws(PealError) -> DeviceRegistration {
        let platform = try platform(given.os) ?? known?.platform ?? platform
        // Another device may have a retired device's address by now.
        var address = known?.retirement == nil ? known?.address : nil
        var detail = isWhole ? DeviceDetail() : known?.detail ?? DeviceDetail()
        // If only `os` changes, such as to another push service of the family, the device keeps its token.
        let kept = address.flatMap { $0.route.platform == platform ? nil : detail.addressAsSent ?? $0.json.stringValue }
        if let text = given.deviceToken ?? kept {
            let checked = try self.address(text, platform)
            // APNs disproved the environment of the former address only.
            if checked.bytes != known?.address.bytes { detail.environmentDisproved = nil }
            address = checked
            detail.addressAsSent = checked.json == .string(text) ? nil : text
        }
        guard let address else { throw .missing("registration_token") }
        detail.vendorOS = given.os ?? detail.vendorOS
        detail.osVersion = given.osVersion ?? detail.osVersion
        detail.alias = given.alias ?? detail.alias
        detail.model = given.model ?? detail.model
        detail.manufacturer = given.manufacturer ?? detail.manufacturer
        let userLeft = isWhole || given.clearsUser ? nil : known?.userID
        return DeviceRegistration(
            id: id, address: address, userID: userID ?? userLeft,
            topics: try topics(given.tags, over: known?.topics(at: now) ?? [], isWhole: isWhole),
            locale: known?.locale, timeZone: known?.timeZone, detail: detail,
            isInteractive: Interactivity.isInteractive(platform: platform, osVersion: detail.osVersion),
            identityOnMove: isWhole ? .knownID : .newID)
    }

    private func platform(_ os: String?) throws(PealError) -> Platform? {
        guard let os, !os.isEmpty else { return nil }
        guard let named = PivotalPlatform.platform(os: os) else { throw .invalid("os", "os \(os) is unknown") }
        guard PivotalPlatform.family(platform).contains(named) else {
            throw .invalid("os", "this platform's devices run \(PivotalPlatform.os(platform)), not \(os)")
        }
        return named
    }

    private func address(_ text: String, _ platform: Platform) throws(PealError) -> Address {
        do {
            return try rules.address(.string(text), platform: platform, environment: environment)
        } catch {
            throw .invalid("registration_token", error.message)
        }
    }

    /// The topics after the request. The tags of a POST are the complete set.
    private func topics(
        _ tags: Located<PivotalRegistrationDraft.Tags>?, over known: [String], isWhole: Bool
    ) throws(PealError) -> [String]? {
        guard let tags else { return isWhole ? [] : nil }
        switch tags.value {
        case .all(let names): return names
        case .change(let change):
            if isWhole { return change.subscribe }
            let left = Set(change.unsubscribe.map(ExactText.init))
            let topics = (known.filter { !left.contains(ExactText($0)) } + change.subscribe).distinctTexts
            let max = Limits.topicsPerDeviceMax
            guard topics.count <= max else { throw .invalid(tags.path, "a device may have at most \(max) tags") }
            return topics
        }
    }
}

extension PivotalDevice {
    /// A registration as the device itself receives it.
    /// - Parameter variant: the platform's id.
    static func json(_ device: Device, variant: String, now: Timestamp) -> JSON {
        let own: [(String, JSON)] = [
            ("device_uuid", .string(device.id.description)), ("variant_uuid", .string(variant)),
        ]
        return .object(
            JSON.Members(
                own + facts(device) + [
                    ("tags", tags(device, now: now)), ("active", .bool(device.retirement == nil)),
                    ("custom_user_id", .string(device.userID ?? "")),
                ]))
    }

    /// A device in the list of `/v2/registrations`.
    static func listedJSON(_ device: Device) -> JSON {
        .object(
            JSON.Members(
                facts(device) + [
                    ("device_uuid", .string(device.id.description)), ("active", .bool(device.retirement == nil)),
                ]))
    }

    /// A device in the list of `/v1/tags/all/…`.
    static func taggedJSON(_ device: Device, now: Timestamp) -> JSON {
        .object(
            JSON.Members(
                facts(device) + [
                    ("device_uuid", .string(device.id.description)), ("tags", tags(device, now: now)),
                    ("active", .bool(device.retirement == nil)),
                ]))
    }

    /// The client's description of the device, as received.
    private static func facts(_ device: Device) -> [(String, JSON)] {
        [
            ("os", .string(device.detail.vendorOS ?? PivotalPlatform.os(device.platform))),
            ("os_version", .string(device.detail.osVersion ?? "")),
            ("device_model", .string(device.detail.model ?? "")),
            ("device_manufacturer", .string(device.detail.manufacturer ?? "")),
            ("device_alias", .string(device.detail.alias ?? "")),
            ("registration_token", .string(device.detail.addressAsSent ?? text(of: device.address.json))),
        ]
    }

    /// An address as text, which all clients expect: of a Web Push subscription its endpoint.
    private static func text(of address: JSON) -> String {
        address.stringValue ?? address["endpoint"]?.stringValue ?? ""
    }

    private static func tags(_ device: Device, now: Timestamp) -> JSON {
        .array(device.topics(at: now).sorted().map { ["text": .string($0)] })
    }
}

/// Maps the dialect's names of platforms to Peal's platforms and routes.
enum PivotalPlatform {
    /// The platform that `os` of a registration names, in any letter case; nil for an unknown name.
    static func platform(os: String) -> Platform? {
        let lowered = os.lowercased()
        return named.first { $0.name == lowered }?.platform
    }

    /// The valid values of `os` in a registration, and what they mean.
    static let named: [(name: String, platform: Platform)] = [
        ("ios", .ios), ("android", .android), ("android-fcm", .android), ("android-gcm", .android),
        ("android-baidu", .androidBaidu), ("windows8", .windows), ("windows", .windows),
        ("windowsphone", .windowsPhone), ("windows_phone", .windowsPhone), ("bb10", .blackberry),
        ("blackberry", .blackberry),
    ]

    static let words = named.map(\.name)

    /// The dialect's name of the platform.
    static func os(_ platform: Platform) -> String {
        switch platform {
        case .ios: "ios"
        case .android: "android"
        case .androidBaidu: "android-baidu"
        case .windows: "windows8"
        case .windowsPhone: "windowsPhone"
        case .blackberry: "bb10"
        default: platform.rawValue
        }
    }

    /// The platforms whose devices a platform key may register and see.
    static func family(_ platform: Platform) -> [Platform] {
        Platform.allCases.filter { $0.family == platform.family }
    }
}

extension PivotalPlatform {
    /// The routes to the devices of a platform; `all` means every platform.
    /// - Throws: `invalid_field` for an unknown name.
    static func routes(named name: String) throws(PealError) -> [Route] {
        guard name.lowercased() != "all" else { return allRoutes }
        guard let platform = platform(os: name) else { throw .invalid("platform", "platform \(name) is unknown") }
        return Route.to(platform)
    }

    static var allRoutes: [Route] { Route.allCases.filter { !$0.isBroadcast } }

    /// The routes to the devices that a platform key may register; empty if the app has no such key.
    static func routes(ofKey uuid: String, app: AppKey, in store: any StoreReading) throws -> [Route] {
        guard let key = try store.storedKey(.pivotalPlatform, publicHalf: uuid)?.key, key.app == app,
            let platform = key.platform
        else { return [] }
        return family(platform).map { Route($0, key.environment ?? .production) }
    }
}
