internal import PealCore

extension PivotalDevice {
    /// A registration as the device itself is told.
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

    /// What the client said of the device, as it was sent.
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
