internal import PealCore
internal import PealShapes
internal import PealWire

/// The caller and the app that a request names.
struct DevtodevCaller: Sendable {
    var userToken: String?
    var app: String?
}

/// A push as received.
struct DevtodevRequest: Sendable {
    static let windowsNames = ["uwp", "win", "windows"]

    var pack: String?
    var elements: [JSON] = []
    var campaign: String?
    var ios: DevtodevMessage<DevtodevApplePayload>?
    var android: DevtodevMessage<DevtodevAndroidPayload>?
    var windows: [(name: String, message: DevtodevWindowsMessage)] = []
}

/// One platform's message before its payload is read.
struct DevtodevOutline: Sendable {
    var options = DevtodevOptions()
    var payload: JSON = [:]
}

/// One platform's message.
struct DevtodevMessage<Payload: Sendable>: Sendable {
    let options: DevtodevOptions
    let payload: Payload
}

/// `options` of one platform's message.
struct DevtodevOptions: Sendable {
    var isHidden = false
    var delivery = PlatformOptions()

    static let usualLife = MessageOptions.Life.seconds(Limits.devtodevLifeSeconds)
    /// From this number on, `expire` is an instant in seconds since 1970, and from the next one on in milliseconds.
    private static let earliestSeconds: Int64 = 1_000_000_000
    static let earliestMilliseconds: Int64 = 1_000_000_000_000
    /// 9999-12-31T23:59:59Z.
    static let latestSeconds: Int64 = 253_402_300_799

    init(environment: Environment? = nil) {
        delivery.priority = .normal
        delivery.life = Self.usualLife
        delivery.environment = environment
    }

    static func life(_ number: Int64) -> MessageOptions.Life? {
        switch number {
        case 0..<earliestSeconds: .seconds(min(number, Limits.ttlSecondsMax))
        case earliestSeconds..<earliestMilliseconds where number <= latestSeconds:
            .until(Timestamp(seconds: number))
        case earliestMilliseconds...latestSeconds * 1000: .until(Timestamp(milliseconds: number))
        default: nil
        }
    }
}

/// What a tap does, under the key that the vendor's SDKs read in a payload.
struct DevtodevAction: Sendable {
    var member: (key: String, value: JSON)?
}

/// The payload of a push for iOS.
struct DevtodevApplePayload: Sendable {
    /// Under Apple's names.
    var alert = JSON.Members()
    var badge: Int64?
    var sound: String?
    var action: DevtodevAction?
    var interactive: DevtodevInteractive?
    var attachments: [DevtodevAttachment] = []
    var data: Located<JSON.Members>?
}

/// The buttons of a notification: a template, or the author's own.
struct DevtodevInteractive: Sendable {
    var template: ButtonTemplate?
    var buttons: [Located<DevtodevAppleButton>] = []
}

/// A button of an iOS notification, by the id that its template or the app defines.
struct DevtodevAppleButton: Sendable {
    var id: String?
    var action: DevtodevAction?
}

/// A file that the app's service extension loads.
struct DevtodevAttachment: Sendable {
    var type: String?
    var url: String?
}

/// The payload of a push for Android.
struct DevtodevAndroidPayload: Sendable {
    /// Under the SDK's names.
    var keys = JSON.Members()
    var action: DevtodevAction?
    var buttons: [DevtodevAndroidButton] = []
    var data: Located<JSON.Members>?
}

/// A button of an Android notification.
struct DevtodevAndroidButton: Sendable {
    var id = ""
    var handling = "foreground"
    var icon: String?
    var text: String?
    var action: DevtodevAction?
}
