internal import PealCore

/// Reads who a message is for.
struct AudienceReader {
    let rules: AddressRules
    /// The environment of addresses that name none.
    let environment: Environment

    func audience(_ fields: Fields) throws(PealError) -> Audience {
        try fields.refuse("channel")
        var audience = Audience()
        audience.includesAll = try fields.flag("all") ?? false
        audience.devices = try devices(fields)
        audience.users =
            try fields.texts("users", countMax: Limits.audienceUsersMax, bytesMax: Limits.userIDBytesMax) ?? []
        audience.topics =
            try fields.texts("topics", countMax: Limits.audienceTopicsMax, bytesMax: Limits.topicBytesMax) ?? []
        audience.addresses = try addresses(fields)
        audience.excludedTopics =
            try fields.texts("not_topics", countMax: Limits.audienceTopicsMax, bytesMax: Limits.topicBytesMax) ?? []
        audience.interactiveOnly = try fields.flag("interactive_only") ?? false
        audience.platforms = try platforms(fields)
        guard !audience.isEmpty else {
            throw PealError(
                .missingField, "\(fields.path) must name somebody: all, devices, users, topics or addresses",
                field: fields.path)
        }
        return audience
    }

    private func devices(_ fields: Fields) throws(PealError) -> [DeviceID] {
        var seen: Set<DeviceID> = []
        var devices: [DeviceID] = []
        for (value, path) in try fields.list("devices", countMax: Limits.audienceDevicesMax) ?? [] {
            guard let text = value.stringValue else {
                throw .invalid(path, "\(path) must be a string, not \(value.typeName)")
            }
            guard let id = DeviceID(text) else { throw .invalid(path, "\(path) must be a UUID") }
            if seen.insert(id).inserted { devices.append(id) }
        }
        return devices
    }

    private func addresses(_ fields: Fields) throws(PealError) -> [Address] {
        var seen: Set<Address> = []
        var addresses: [Address] = []
        for (value, path) in try fields.list("addresses", countMax: Limits.audienceAddressesMax) ?? [] {
            let item = try Fields(value, path: path)
            guard let platform = try item.platform() else { throw .missing(item.path("platform")) }
            guard let text = item["address"] else { throw .missing(item.path("address")) }
            let environment = try item.environment() ?? environment
            let address: Address
            do {
                address = try rules.address(text, platform: platform, environment: environment)
            } catch {
                throw error.under(path)
            }
            if seen.insert(address).inserted { addresses.append(address) }
        }
        return addresses
    }

    private func platforms(_ fields: Fields) throws(PealError) -> Set<Platform>? {
        guard let list = try fields.list("platforms", countMax: Platform.allCases.count) else { return nil }
        var platforms: Set<Platform> = []
        for (value, path) in list { platforms.insert(try Fields.platform(value, path)) }
        return platforms.isEmpty ? nil : platforms
    }
}
