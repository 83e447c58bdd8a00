internal import PealCore

/// Reads who a message is for.
struct AudienceReader {
    let rules: AddressRules
    let check: AddressCheck
    /// The environment that the message asks for, which is that of addresses and channels that name none.
    let environment: Environment?

    func audience(_ fields: Fields) throws(PealError) -> Audience {
        if let channel = try fields.object("channel") { return try audience(of: channel, fields) }
        var audience = Audience()
        audience.includesAll = try fields.flag("all") ?? false
        audience.devices = try devices(fields)
        audience.users =
            try fields.texts("users", countMax: Limits.audienceUsersMax) ?? []
        audience.topics =
            try fields.texts("topics", countMax: Limits.audienceTopicsMax) ?? []
        audience.addresses = try addresses(fields)
        audience.excludedTopics =
            try fields.texts("not_topics", countMax: Limits.audienceTopicsMax) ?? []
        audience.interactiveOnly = try fields.flag("interactive_only") ?? false
        audience.platforms = try platforms(fields)
        guard !audience.isEmpty else {
            throw PealError(
                .missingField, "\(fields.path) must name somebody: all, devices, users, topics or addresses",
                field: fields.path)
        }
        return audience
    }

    /// Everybody who follows a channel; APNs knows who they are, so nothing can be added or taken away.
    private func audience(of channel: Fields, _ fields: Fields) throws(PealError) -> Audience {
        let others = [
            "all", "devices", "users", "topics", "addresses", "platforms", "interactive_only", "not_topics",
        ]
        for name in others where fields[name] != nil {
            throw .invalid(fields.path(name), "a channel is an audience of its own: leave \(name) out")
        }
        let own = try channel.environment()
        if let own, let environment, own != environment {
            throw .invalid(
                channel.path("environment"), "options.environment is \(environment.rawValue), the channel's another")
        }
        guard let id = channel["id"] else { throw .missing(channel.path("id")) }
        var audience = Audience()
        do {
            audience.addresses = [try rules.channel(id, environment: own ?? environment ?? .production)]
        } catch {
            throw error.under(channel.path)
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
            let environment = try item.environment() ?? environment ?? .production
            let address: Address
            do {
                address = try check.checked(
                    try rules.address(text, platform: platform, environment: environment))
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
