internal import PealCore

/// What is known of a device beyond sending, as compact JSON. Nothing known = no bytes, and no row.
enum DetailCoding {
    static func encode(_ detail: DeviceDetail) -> [UInt8] {
        guard detail != DeviceDetail() else { return [] }
        let identifiers = detail.identifiers.sorted { $0.key < $1.key }.map { ($0.key, JSON.string($0.value)) }
        return JSON.compact([
            ("os", detail.osVersion.map(JSON.string)), ("app", detail.appVersion.map(JSON.string)),
            ("identifiers", identifiers.isEmpty ? nil : .object(.init(identifiers))),
            ("attributes", detail.attributes.isEmpty ? nil : .object(detail.attributes)),
            ("alias", detail.alias.map(JSON.string)), ("model", detail.model.map(JSON.string)),
            ("manufacturer", detail.manufacturer.map(JSON.string)), ("vendor_os", detail.vendorOS.map(JSON.string)),
            ("address", detail.addressAsSent.map(JSON.string)),
            ("disproved", detail.environmentDisproved.map { .string($0.rawValue) }),
        ]).bytes
    }

    static func decode(_ bytes: [UInt8]) throws -> DeviceDetail {
        var detail = DeviceDetail()
        guard !bytes.isEmpty else { return detail }
        guard let json = try? JSONParser.parse(bytes, depthMax: ContentCoding.depthMax) else {
            throw PealError.damaged("a device's detail")
        }
        detail.osVersion = json["os"]?.stringValue
        detail.appVersion = json["app"]?.stringValue
        for (name, value) in json["identifiers"]?.objectValue?.pairs ?? JSON.Members().pairs {
            detail.identifiers[name] = value.stringValue
        }
        detail.attributes = json["attributes"]?.objectValue ?? .init()
        detail.alias = json["alias"]?.stringValue
        detail.model = json["model"]?.stringValue
        detail.manufacturer = json["manufacturer"]?.stringValue
        detail.vendorOS = json["vendor_os"]?.stringValue
        detail.addressAsSent = json["address"]?.stringValue
        detail.environmentDisproved = json["disproved"]?.stringValue.flatMap(Environment.init(rawValue:))
        return detail
    }
}
