internal import PealCore

extension Device {
    /// As the native API shows it.
    func nativeJSON(at now: Timestamp) -> JSON {
        var members: [(String, JSON?)] = [
            ("id", .string(id.description)), ("platform", .string(platform.rawValue)),
            ("environment", .string(environment.rawValue)),
            ("address", detail.addressAsSent.map(JSON.string) ?? address.json),
            ("user_id", userID.map(JSON.string) ?? .null),
            ("topics", .array(topics(at: now).sorted().map(JSON.string))),
            ("locale", locale.map(JSON.string) ?? .null), ("time_zone", timeZone.map(JSON.string) ?? .null),
            ("os_version", detail.osVersion.map(JSON.string)), ("app_version", detail.appVersion.map(JSON.string)),
            ("alias", detail.alias.map(JSON.string)), ("model", detail.model.map(JSON.string)),
            ("manufacturer", detail.manufacturer.map(JSON.string)), ("vendor_os", detail.vendorOS.map(JSON.string)),
        ]
        if !detail.identifiers.isEmpty {
            let pairs = detail.identifiers.sorted { $0.key < $1.key }.map { ($0.key, JSON.string($0.value)) }
            members.append(("identifiers", .object(JSON.Members(pairs))))
        }
        if !detail.attributes.isEmpty { members.append(("attributes", .object(detail.attributes))) }
        members += [
            ("state", retirement == nil ? "active" : "retired"),
            ("registered_at", .string(registeredAt.description)),
            ("retired_at", retirement.map { .string($0.at.description) }),
            ("retired_reason", retirement.map { .string($0.reason) }),
        ]
        return .compact(members)
    }
}
