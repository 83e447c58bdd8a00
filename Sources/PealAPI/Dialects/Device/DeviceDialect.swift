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
    let settings: [any DeclaredSetting] = [DeviceSettings.verifyUserID]

    func endpoints(_ services: APIServices) -> [Endpoint] { [] }

    func spelling(of field: MessageField) -> String { NativeSpelling.path(of: field) }

    func document(at now: Timestamp) -> DialectDocument? { nil }
}

/// What an app may choose for its devices.
enum DeviceSettings {
    /// Whether a device must prove its user.
    static let verifyUserID = Setting("device", "verify_user_id", default: true)
}
