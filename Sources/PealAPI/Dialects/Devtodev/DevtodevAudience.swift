internal import PealCore
internal import PealShapes

/// Reads the audience of a push: the union of the elements. If an element has a push token, the rest of it is ignored.
/// Invalid elements are skipped and reported by their paths.
struct DevtodevAudience {
    private(set) var audience = Audience()
    private(set) var skipped: [String] = []

    private static let identifiers: [(name: String, kind: DeviceIdentifier.Kind)] = [
        ("idfa", .idfa), ("idfv", .idfv), ("advertisingId", .advertisingID), ("androidId", .androidID),
        ("serialId", .serialID), ("devtodevId", .devtodev),
    ]
    private static let users = ["userId", "customUid"]

    /// The members of an element that are read.
    static let names = ["token"] + identifiers.map { $0.name } + users

    /// - Parameter content: contains the objects of the push's platforms.
    init(_ elements: [JSON], content: Content, rules: AddressRules) {
        var seen = Seen()
        audience.platforms = Set(content.platforms.keys)
        for (index, element) in elements.enumerated() {
            let path = "audience[\(index)]"
            guard let members = element.objectValue else {
                skipped.append("\(path): not an object")
                continue
            }
            if let value = Self.given(members["token"]) {
                if let address = Self.address(value, content, rules) {
                    if seen.addresses.insert(address).inserted { audience.addresses.append(address) }
                } else {
                    skipped.append("\(path).token: malformed")
                }
            } else if !take(members, path, &seen) {
                skipped.append("\(path): no identifier")
            }
        }
    }

    private struct Seen {
        var addresses: Set<Address> = []
        var identifiers: Set<DeviceIdentifier> = []
        var users: Set<ExactText> = []
    }

    /// - Returns: whether the element has any identifier.
    private mutating func take(_ members: JSON.Members, _ path: String, _ seen: inout Seen) -> Bool {
        var isNamed = false
        for (name, kind) in Self.identifiers {
            guard let value = Self.given(members[name]), !Self.isAnonymous(value, kind) else { continue }
            isNamed = true
            let isNumber = kind == .devtodev
            if let text = isNumber
                ? value.tolerantInteger.map(String.init) : Self.text(value, bytesMax: Limits.nameCharactersMax)
            {
                let identifier = DeviceIdentifier(kind, text)
                if seen.identifiers.insert(identifier).inserted { audience.identifiers.append(identifier) }
            } else {
                skipped.append("\(path).\(name): malformed")
            }
        }
        for name in Self.users {
            guard let value = Self.given(members[name]) else { continue }
            isNamed = true
            if let text = Self.text(value, bytesMax: Limits.userIDBytesMax) {
                if seen.users.insert(ExactText(text)).inserted { audience.users.append(text) }
            } else {
                skipped.append("\(path).\(name): malformed")
            }
        }
        return isNamed
    }

    private static func given(_ value: JSON?) -> JSON? {
        value.flatMap { $0.isNull || $0 == .string("") ? nil : $0 }
    }

    /// All devices whose users do not permit tracking have the same advertising id, which consists of zeros (Apple:
    /// `advertisingIdentifier`; Google: advertising ID).
    private static func isAnonymous(_ value: JSON, _ kind: DeviceIdentifier.Kind) -> Bool {
        guard kind == .idfa || kind == .advertisingID, let text = value.scalarText else { return false }
        return text.utf8.allSatisfy { $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: "-") }
    }

    /// `7` and `7.0` are the same whole number.
    private static func text(_ value: JSON, bytesMax: Int) -> String? {
        if let number = value.integerValue { return String(number) }
        guard let text = value.scalarText, text.utf8.count <= bytesMax, text.isPrintable else { return nil }
        return text
    }

    /// A URI is a Windows channel URI. An APNs device token is an iOS address if the push is for iOS. Every other token
    /// is an Android address.
    private static func address(_ value: JSON, _ content: Content, _ rules: AddressRules) -> Address? {
        guard let text = value.scalarText else { return nil }
        let isURI = text.contains("://")
        for platform in isURI ? [Platform.windows] : [.ios, .android] {
            guard let object = content.platforms[platform] else { continue }
            let environment = object.options.environment ?? .production
            if let address = try? rules.address(.string(text), platform: platform, environment: environment) {
                return address
            }
        }
        return nil
    }
}
