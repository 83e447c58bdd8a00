internal import PealCore

/// Reads and writes a registration.
struct PivotalDevice {
    let rules: AddressRules
    /// The platform of the key's devices.
    let platform: Platform
    let environment: Environment

    /// Applies the members of the body; a POST clears everything else.
    /// - Parameter userID: already verified; nil if the body has none.
    func registration(
        _ body: Tolerance, id: DeviceID, over known: Device?, userID: String?, isWhole: Bool, now: Timestamp
    ) throws(PealError) -> DeviceRegistration {
        let platform = try platform(of: body) ?? known?.platform ?? platform
        // The address of a retired device may belong to another device by now.
        var address = known?.retirement == nil ? known?.address : nil
        var detail = isWhole ? DeviceDetail() : known?.detail ?? DeviceDetail()
        if let text = try body.text("registration_token", bytesMax: Limits.addressBytesMax) {
            let checked = try self.address(text, platform)
            address = checked
            detail.addressAsSent = checked.json == .string(text) ? nil : text
        }
        guard let address else { throw .missing("registration_token") }
        try apply(body, to: &detail)
        let userLeft = isWhole || body.isCleared("custom_user_id") ? nil : known?.userID
        return DeviceRegistration(
            id: id, address: address, userID: userID ?? userLeft,
            topics: try topics(body, over: known?.topics(at: now) ?? [], isWhole: isWhole),
            locale: known?.locale, timeZone: known?.timeZone, detail: detail,
            isInteractive: Interactivity.isInteractive(platform: platform, osVersion: detail.osVersion),
            identityOnMove: isWhole ? .knownID : .newID)
    }

    private func platform(of body: Tolerance) throws(PealError) -> Platform? {
        guard let os = try body.text("os") else { return nil }
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

    /// An empty string is stored and returned as it is.
    private func apply(_ body: Tolerance, to detail: inout DeviceDetail) throws(PealError) {
        if let os = try Self.given(body, "os") { detail.vendorOS = os }
        if let version = try Self.given(body, "os_version") { detail.osVersion = version }
        if let alias = try Self.given(body, "device_alias") { detail.alias = alias }
        if let model = try Self.given(body, "device_model") { detail.model = model }
        if let maker = try Self.given(body, "device_manufacturer") { detail.manufacturer = maker }
    }

    private static func given(_ body: Tolerance, _ name: String) throws(PealError) -> String? {
        body.isCleared(name) ? "" : try body.text(name)
    }

    /// Names are not case-sensitive. A list is the whole set; an object `{subscribe, unsubscribe}` is a change, and in
    /// a POST its `subscribe` is the set.
    private func topics(_ body: Tolerance, over known: [String], isWhole: Bool) throws(PealError) -> [String]? {
        let count = Limits.topicsPerDeviceMax
        // Newer versions call tags topics.
        guard let (value, path) = body["tags", "topics"] else { return isWhole ? [] : nil }
        if value.arrayValue != nil {
            return Self.lowered(try body.texts(path, countMax: count, bytesMax: Limits.topicBytesMax))
        }
        let change = try Tolerance(value, path: path)
        let add = Self.lowered(
            try change.texts("subscribe", countMax: count, bytesMax: Limits.topicBytesMax))
        if isWhole { return add }
        let remove = Self.lowered(
            try change.texts("unsubscribe", countMax: count, bytesMax: Limits.topicBytesMax))
        let topics = Set(known).subtracting(remove).union(add)
        guard topics.count <= count else { throw .invalid(path, "a device may have at most \(count) tags") }
        return topics.sorted()
    }

    private static func lowered(_ names: [String]) -> [String] { Array(Set(names.map { $0.lowercased() })).sorted() }
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

    /// As `/v2/registrations` lists it.
    static func listedJSON(_ device: Device) -> JSON {
        .object(
            JSON.Members(
                facts(device) + [
                    ("device_uuid", .string(device.id.description)), ("active", .bool(device.retirement == nil)),
                ]))
    }

    /// As `/v1/tags/all/…` lists it.
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
            ("registration_token", device.detail.addressAsSent.map(JSON.string) ?? device.address.json),
        ]
    }

    private static func tags(_ device: Device, now: Timestamp) -> JSON {
        .array(device.topics(at: now).sorted().map { ["text": .string($0)] })
    }
}
