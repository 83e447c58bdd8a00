internal import PealCore

/// The API that apps on devices call. So far only its keys exist: they can be made before apps ship with them.
struct DeviceDialect: Dialect {
    let name: DialectName = "device"
    let paths: [String] = []
    let envelope: any Envelope = NativeEnvelope()

    let keys = [
        KeyKind(
            "device", usualScopes: [.devices], secret: ("token", .base64URL(prefix: "peald_", byteCount: 32)),
            sharedSecret: "shared_secret")
    ]

    func endpoints(_ services: APIServices) -> [Endpoint] { [] }

    func document(at now: Timestamp, _ options: APIOptions) -> DialectDocument? { nil }
}
