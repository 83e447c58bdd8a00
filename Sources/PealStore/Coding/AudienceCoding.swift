internal import PealCore

/// An audience as compact JSON: what the author named, before anybody is looked up.
enum AudienceCoding {
    static func encode(_ audience: Audience) -> [UInt8] {
        let addresses = audience.addresses.map { address -> JSON in
            [.integer(address.route.rawValue), .string(Base64URL.encode(address.bytes))]
        }
        let platforms = audience.platforms.map { platforms in
            JSON.array(platforms.map(\.rawValue).sorted().map(JSON.string))
        }
        return JSON.compact([
            ("all", audience.includesAll ? true : nil), ("devices", list(audience.devices.map(\.description))),
            ("identifiers", identifiers(audience)), ("users", list(audience.users)), ("topics", list(audience.topics)),
            ("addresses", addresses.isEmpty ? nil : .array(addresses)), ("platforms", platforms),
            ("interactive", audience.interactiveOnly ? true : nil), ("not_topics", list(audience.excludedTopics)),
        ]).bytes
    }

    static func decode(_ bytes: [UInt8]) throws -> Audience {
        guard let json = try? JSONParser.parse(bytes) else { throw PealError.damaged("an audience") }
        var audience = Audience()
        audience.includesAll = json["all"] != nil
        audience.devices = texts(json["devices"]).compactMap { DeviceID($0) }
        audience.identifiers = (json["identifiers"]?.arrayValue ?? []).compactMap(identifier)
        audience.users = texts(json["users"])
        audience.topics = texts(json["topics"])
        audience.addresses = (json["addresses"]?.arrayValue ?? []).compactMap(address)
        audience.platforms = json["platforms"].map { Set(texts($0).compactMap(Platform.init)) }
        audience.interactiveOnly = json["interactive"] != nil
        audience.excludedTopics = texts(json["not_topics"])
        return audience
    }

    private static func identifiers(_ audience: Audience) -> JSON? {
        let pairs = audience.identifiers.map { JSON.array([.string($0.kind.rawValue), .string($0.value)]) }
        return pairs.isEmpty ? nil : .array(pairs)
    }

    private static func identifier(_ json: JSON) -> DeviceIdentifier? {
        let parts = texts(json)
        return parts.count == 2 ? DeviceIdentifier.Kind(rawValue: parts[0]).map { .init($0, parts[1]) } : nil
    }

    private static func address(_ json: JSON) -> Address? {
        guard let parts = json.arrayValue, parts.count == 2, let route = parts[0].integerValue.flatMap(Route.init),
            let bytes = parts[1].stringValue.flatMap({ Base64URL.decode($0) })
        else { return nil }
        return Address(route: route, bytes: bytes)
    }

    private static func list(_ texts: [String]) -> JSON? { texts.isEmpty ? nil : .array(texts.map(JSON.string)) }

    private static func texts(_ json: JSON?) -> [String] { (json?.arrayValue ?? []).compactMap(\.stringValue) }
}
