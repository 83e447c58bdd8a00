/// Where a push network reaches a device, checked and in the form that is stored and compared: for APNs the token's raw
/// bytes, for FCM the token, for WNS and MPNS the channel URI, for Web Push the subscription as compact JSON.
package struct Address: Hashable, Sendable {
    package let route: Route
    package let bytes: [UInt8]

    /// Takes stored bytes as they are; input from outside goes through `AddressRules`.
    package init(route: Route, bytes: [UInt8]) {
        self.route = route
        self.bytes = bytes
    }

    /// The bytes by which two registrations are the same address: of a Web Push subscription only its endpoint counts.
    package var identity: [UInt8] {
        guard route == .webPush, let endpoint = json["endpoint"]?.stringValue else { return bytes }
        return Array(endpoint.utf8)
    }

    /// As the API writes it: text, and for Web Push the subscription object.
    package var json: JSON {
        switch route {
        case .apnsProduction, .apnsSandbox: .string(Hex.encode(bytes))
        case .webPush: (try? JSONParser.parse(bytes)) ?? .null
        default: .string(String(decoding: bytes, as: UTF8.self))
        }
    }
}
