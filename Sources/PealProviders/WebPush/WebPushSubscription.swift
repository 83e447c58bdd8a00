import PealCore

/// What a browser gave out, read from a stored address: where to send, for whom to encrypt, and under which key.
struct WebPushSubscription: Sendable {
    let endpoint: String
    let receiver: WebPushEncryption.Receiver
    /// The application server key that it was made with, in base64url without padding; nil = the app's newest.
    let serverKey: String?

    /// nil where keys are missing or are none: nothing can be encrypted for it.
    init?(_ address: some Collection<UInt8>) {
        guard let json = try? JSONParser.parse(Array(address)) else { return nil }
        self.init(json)
    }

    init?(_ json: JSON) {
        guard let endpoint = json["endpoint"]?.stringValue,
            let publicKey = json["keys"]?["p256dh"]?.stringValue.flatMap(Base64URL.decode),
            let secret = json["keys"]?["auth"]?.stringValue.flatMap(Base64URL.decode),
            let receiver = WebPushEncryption.Receiver(publicKey: publicKey, authenticationSecret: secret)
        else { return nil }
        self.endpoint = endpoint
        self.receiver = receiver
        serverKey = json["application_server_key"]?.stringValue.flatMap(Base64URL.decode).map(Base64URL.encode)
    }

    /// The endpoint of an address as it is stored, found without reading the rest; nil when it is written in any other
    /// way.
    static func endpoint(of address: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let start = Array(#"{"endpoint":""#.utf8)
        guard address.starts(with: start) else { return nil }
        let text = address.dropFirst(start.count)
        guard let end = text.firstIndex(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }),
            text[end] == UInt8(ascii: "\"")
        else { return nil }
        return text[..<end]
    }
}
