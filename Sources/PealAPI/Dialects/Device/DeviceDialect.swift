internal import PealCore
internal import PealShapes

/// The API for apps on devices and for web pages: each registers itself and acts only for itself.
struct DeviceDialect: Dialect {
    let name: DialectName = .device
    let paths = [DeviceRoutes.base, SDKFiles.base]
    let envelope: any Envelope = NativeEnvelope()
    let keys = [KeyKind.device]
    let settings: [any DeclaredSetting] = [DeviceSettings.verifyUserID]
    let mediaTypes = MediaType.Tolerance.none
    let servesAllOrigins = true
    let bodyBytesMax: Int? = Limits.deviceBodyBytesMax

    func endpoints(_ services: APIServices) -> [Endpoint] { DeviceRoutes(services).all + SDKFiles.endpoints }

    func document(at now: Timestamp, _ options: APIOptions) -> DialectDocument? {
        DeviceDocument.document(topicsPerDeviceMax: options.topicsPerDeviceMax)
    }
}

extension Policy {
    /// null is no value: a device that writes it instead of `topics` keeps its topics.
    static let device = Policy(leavesNull: true)
}

extension DialectName {
    static let device: DialectName = "device"
}

extension KeyKind {
    static let device = KeyKind(
        .device, defaultScopes: [.devices], secret: ("token", .base64URL(prefix: "peald_", byteCount: 32)),
        sharedSecret: "shared_secret")
}

extension Access {
    /// The key that is embedded in the app.
    static let deviceKey = Access(
        Authentication(
            .device, .bearer, needs: "a valid device key is required: Authorization: Bearer peald_…",
            text: "A key of dialect device, which is part of the app."), .appOfKey(.devices))

    /// A device's own token.
    static let deviceToken = Access(
        Authentication(
            .device, .deviceToken, name: "device-token",
            needs: "a valid device token is required: Authorization: Bearer pdt_…; register the device",
            text: "The token that the registration of the device returned."), .anyKey)
}

/// The settings of an app for its devices.
enum DeviceSettings {
    /// Whether a device must prove its user.
    static let verifyUserID = Setting("device", "verify_user_id", default: true)
}
