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

    /// The name of the request's Windows object.
    var windowsName: String { windows.first?.name ?? "uwp" }

    /// The message. The content goes into the objects of the platforms that the request names, in the native API's
    /// form. The message's id is the payload's `_k`.
    func draft(
        id: MessageID, app: App, now: Timestamp, _ rules: AddressRules, _ limits: APIOptions
    ) throws(PealError) -> DevtodevDraft {
        var notes: [String] = []
        var content = Content()
        if let ios { content.platforms[.ios] = try DevtodevApple.content(ios, id: id, notes: &notes) }
        if let android { content.platforms[.android] = DevtodevAndroid.content(android, id: id, notes: &notes) }
        for (_, message) in windows {
            // The first one is used; the others are still checked.
            let read = try message.content()
            if content.platforms[.windows] == nil { content.platforms[.windows] = read }
        }
        let audience = DevtodevAudience(elements, content: content, rules: rules)
        var options = MessageOptions()
        if content.platforms.count == 1 { options.life = content.platforms.values.first?.options.life }
        let draft = MessageDraft(
            id: id, app: app.key, dialect: .devtodev, campaignID: campaign, audience: audience.audience,
            content: content, options: options, createdAt: now,
            expiresAt: MessageLife(options, content, start: now, secondsMax: limits.messageLifeSeconds).end)
        return DevtodevDraft(draft: draft, skipped: audience.skipped, notes: notes)
    }
}

/// The message of a push, and what it leaves out.
struct DevtodevDraft: Sendable {
    let draft: MessageDraft
    /// The paths of invalid elements of the audience.
    let skipped: [String]
    /// What the message leaves out, for the `Warning` header.
    let notes: [String]

    private var platforms: [Platform] { Platform.addressable.filter { draft.content.platforms[$0] != nil } }

    /// - Throws: `conflict` if the app cannot push to any of the platforms.
    func check(_ records: [CredentialRecord]) throws(PealError) {
        let isConfigured = platforms.contains { platform in
            let environment = draft.content.platforms[platform]?.options.environment ?? .production
            let route = Route(platform, environment)
            return records.contains { $0.isUsed(on: route) }
        }
        guard isConfigured else { throw DevtodevRefusals.notConfigured(platforms.map(\.rawValue)) }
    }
}

/// One platform's message; its payload is JSON until it is read.
struct DevtodevMessage<Payload: Sendable>: Sendable {
    var options: DevtodevOptions
    var payload: Payload
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
