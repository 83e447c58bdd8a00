internal import PealCore

/// Reads a device from a body: a whole registration, or what changes.
struct DeviceReader {
    let rules: AddressRules

    /// Members of `identifiers`.
    private static let identifierNames = DeviceIdentifier.Kind.allCases.map(\.rawValue)

    func registration(_ fields: Fields, id: DeviceID) throws(PealError) -> DeviceRegistration {
        guard let platform = try fields.platform() else { throw .missing(fields.path("platform")) }
        let environment = try fields.environment() ?? .production
        guard fields["address"] != nil else { throw .missing(fields.path("address")) }
        let address = try address(fields, platform: platform, environment: environment)
        var registration = DeviceRegistration(id: id, address: address)
        try apply(fields, to: &registration)
        return registration
    }

    /// What the device has, with what `fields` mention; null clears.
    /// - Throws: `conflict` for a retired device that is given no address: it may have moved to another device.
    func change(of device: Device, _ fields: Fields) throws(PealError) -> DeviceRegistration {
        if let platform = try fields.platform(), platform != device.platform {
            throw .invalid(fields.path("platform"), "a device does not change its platform")
        }
        let environment = try fields.environment() ?? device.environment
        var address = device.address
        var detail = device.detail
        if fields["address"] != nil {
            address = try self.address(fields, platform: device.platform, environment: environment)
            detail.addressAsSent = nil
        } else if device.retirement != nil {
            throw PealError(.conflict, "the device is retired; give its address to register it again")
        } else if environment != device.environment {
            address = Address(route: Route(device.platform, environment), bytes: device.address.bytes)
        }
        var registration = DeviceRegistration(
            id: device.id, address: address, userID: device.userID, locale: device.locale,
            timeZone: device.timeZone, detail: detail)
        try apply(fields, to: &registration)
        return registration
    }

    private func address(
        _ fields: Fields, platform: Platform, environment: Environment
    ) throws(PealError) -> Address {
        do {
            return try rules.address(fields["address"] ?? .null, platform: platform, environment: environment)
        } catch {
            throw fields.path.isEmpty ? error : error.under(fields.path)
        }
    }

    private func apply(_ fields: Fields, to registration: inout DeviceRegistration) throws(PealError) {
        if fields.mentions("user_id") {
            registration.userID = try fields.text("user_id")
        }
        if fields.mentions("topics") {
            registration.topics =
                try fields.texts("topics", countMax: Limits.topicsPerDeviceMax) ?? []
        }
        if fields.mentions("locale") { registration.locale = try locale(fields) }
        if fields.mentions("time_zone") { registration.timeZone = try timeZone(fields) }
        try applyDetail(fields, to: &registration.detail)
        if let text = fields["address"]?.stringValue, registration.address.json != .string(text) {
            registration.detail.addressAsSent = text
        }
        registration.isInteractive = Interactivity.isInteractive(
            platform: registration.address.route.platform, osVersion: registration.detail.osVersion)
    }

    private func applyDetail(_ fields: Fields, to detail: inout DeviceDetail) throws(PealError) {
        if fields.mentions("os_version") { detail.osVersion = try fields.text("os_version") }
        if fields.mentions("app_version") { detail.appVersion = try fields.text("app_version") }
        if fields.mentions("alias") { detail.alias = try fields.text("alias") }
        if fields.mentions("model") { detail.model = try fields.text("model") }
        if fields.mentions("manufacturer") { detail.manufacturer = try fields.text("manufacturer") }
        if fields.mentions("vendor_os") { detail.vendorOS = try fields.text("vendor_os") }
        if fields.mentions("identifiers") { detail.identifiers = try identifiers(fields) }
        if fields.mentions("attributes") {
            let attributes = try fields.object("attributes")?.members ?? .init()
            guard JSON.object(attributes).bytes.count <= Limits.attributesBytesMax else {
                throw .invalid(
                    fields.path("attributes"), "attributes may be \(Limits.attributesBytesMax) bytes long at most")
            }
            try ControlCharacters.refuse(
                in: JSON.object(attributes), fields.path("attributes"), except: ControlCharacters.inAttributes)
            detail.attributes = attributes
        }
    }

    private func identifiers(_ fields: Fields) throws(PealError) -> [String: String] {
        guard let given = try fields.object("identifiers") else { return [:] }
        var identifiers: [String: String] = [:]
        for name in Self.identifierNames {
            if name == "devtodev_id", let number = given[name]?.integerValue {
                identifiers[name] = String(number)
            } else {
                identifiers[name] = try given.text(name)
            }
        }
        return identifiers
    }

    private func locale(_ fields: Fields) throws(PealError) -> String? {
        guard let locale = try fields.text("locale", charactersMax: Limits.localeCharactersMax) else { return nil }
        guard locale.isLocaleName else { throw .invalid(fields.path("locale"), "locale must be a tag as de or de-AT") }
        return locale
    }

    private func timeZone(_ fields: Fields) throws(PealError) -> String? {
        guard let zone = try fields.text("time_zone", charactersMax: Limits.timeZoneCharactersMax) else { return nil }
        guard zone.utf8.allSatisfy({ $0.isASCIILetterOrDigit || "/_+-".utf8.contains($0) }) else {
            throw .invalid(fields.path("time_zone"), "time_zone must be a name as Europe/Vienna")
        }
        return zone
    }
}

extension UInt8 {
    var isASCIILetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

extension String {
    /// Whether this could be a language tag (RFC 5646), `_` for `-` allowed.
    var isLocaleName: Bool {
        (1...Limits.localeCharactersMax).contains(utf8.count)
            && utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_".utf8.contains($0) }
    }
}
