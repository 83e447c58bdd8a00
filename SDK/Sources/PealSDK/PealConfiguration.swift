public import Foundation
public import PealDevice
internal import PealMoments
internal import PealWire

/// Where the server is and what the app allows.
public struct PealConfiguration: Sendable {
    /// Which of Apple's push services issued the device token.
    public enum Environment: String, Sendable {
        case production, sandbox
    }

    /// Such as `https://push.example.com`.
    public var server: URL
    /// The app's device key.
    public var key: String
    /// The app group that app and notification service extension share, with no other app; nil without an extension.
    public var group: String?
    /// Whether the app itself passes every alert push to `Peal.receiveAlert`, as it can on systems that leave the
    /// presentation to the app. Then it recognizes repeated alerts without an extension.
    public var receivesAlerts = false
    /// APNs' environment; the sandbox belongs to builds with a development certificate.
    public var environment: Environment?
    public var platform = "ios"
    /// Whether the app has the background mode for remote notifications.
    public var canWake = true
    /// Where the ledger is kept; nil for the app group's folder, or the app's own.
    public var folder: URL?
    /// What the device says about itself.
    public var description = DeviceDescription()

    /// A configuration for production.
    public init(server: URL, key: String, group: String? = nil, environment: Environment = .production) {
        (self.server, self.key, self.group, self.environment) = (server, key, group, environment)
    }

    fileprivate var alertReceiver: AlertReceiverKind {
        receivesAlerts ? .app : group == nil ? .system : .serviceExtension
    }
}

/// What the device says about itself when it registers.
public struct DeviceDescription: Sendable, Hashable {
    public var locale: String?
    public var timeZone: String?
    public var osVersion: String?
    public var appVersion: String?
    public var model: String?
    public var manufacturer: String?

    /// What the system says.
    public init() {
        locale = Locale.preferredLanguages.first ?? Locale.current.identifier
        timeZone = TimeZone.current.identifier
        let version = ProcessInfo.processInfo.operatingSystemVersion
        osVersion = "\(version.majorVersion).\(version.minorVersion)"
        appVersion = Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String
    }

    /// The description after a change of the system's settings: where this one says what the system said before, the
    /// new one says what the system says now.
    func updated(from before: Self, to now: Self) -> Self {
        var updated = self
        if locale == before.locale { updated.locale = now.locale }
        if timeZone == before.timeZone { updated.timeZone = now.timeZone }
        return updated
    }

    func write(to registration: inout Registration) {
        (registration.locale, registration.timeZone) = (locale, timeZone)
        (registration.osVersion, registration.appVersion) = (osVersion, appVersion)
        (registration.model, registration.manufacturer) = (model, manufacturer)
    }
}

/// The environment that Peal runs in: a phone, or a simulation of one.
public struct PealDependencies: Sendable {
    public var exchange: any HTTPExchange
    /// Fetches images, without a token; `exchange` unless given.
    public var imageExchange: (any HTTPExchange)?
    public var presenter: any NotificationPresenter
    public var sensors: any Sensors
    public var clock: any PhoneClock
    /// A new UUID, in lower case.
    public var makeID: @Sendable () -> String
    /// The offset from UTC, in seconds, at an instant in milliseconds since 1970.
    public var utcOffsetSeconds: @Sendable (_ milliseconds: Int64) -> Int
    /// Whether a signature of bytes was made with this public key (Ed25519, base64).
    public var verify: @Sendable (_ publicKey: String, _ payload: [UInt8], _ signature: [UInt8]) -> Bool
    /// Starts an upload that the app does not wait for. A simulation may wait for it instead.
    public var start: @Sendable (_ upload: @escaping @Sendable () async -> Void) async -> Void
    /// Whether the ledger is in files, as it must be on a device, whose processes end at any time. A simulation of
    /// thousands of devices may keep it in memory.
    public var keepsFiles = true

    /// An environment with these parts; the others are the system's.
    public init(exchange: any HTTPExchange, presenter: any NotificationPresenter, sensors: any Sensors = NoSensors()) {
        (self.exchange, self.presenter, self.sensors) = (exchange, presenter, sensors)
        clock = SystemClock()
        makeID = { UUID().uuidString.lowercased() }
        utcOffsetSeconds = { TimeZone.current.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0) / 1000)) }
        verify = ModelSignature.verify
        start = BackgroundWork.start
    }

    /// This device.
    init(_ configuration: PealConfiguration) {
        #if canImport(UserNotifications) && !os(tvOS)
            let presenter: any NotificationPresenter = UserNotificationPresenter()
        #else
            let presenter: any NotificationPresenter = NoPresenter()
        #endif
        #if os(iOS)
            let sensors: any Sensors = PhoneSensors()
        #else
            let sensors: any Sensors = NoSensors()
        #endif
        self.init(exchange: URLSessionExchange(), presenter: presenter, sensors: sensors)
        imageExchange = URLSessionExchange(bytesMax: ImageFolder.bytesMax, redirects: .https)
    }

    func parts(_ configuration: PealConfiguration) -> EngineParts {
        let folder =
            configuration.folder ?? configuration.group.flatMap(DeviceFolder.shared) ?? DeviceFolder.own
        let ledger: any SharedState<Ledger> =
            keepsFiles
            ? SharedFile(url: DeviceFolder.ledger(in: folder), initial: { Ledger() }) : SharedMemory(Ledger())
        let models: any SharedState<[String: InstalledModels]> =
            keepsFiles
            ? SharedFile(url: folder.appendingPathComponent("models.json"), initial: { [:] })
            : SharedMemory([:])
        let images = ImageFolder(
            folder: folder.appendingPathComponent("images"), exchange: imageExchange ?? exchange)
        return EngineParts(
            state: ledger, models: models,
            api: HTTPDeviceAPI(server: configuration.server, key: configuration.key, exchange: exchange),
            presenter: presenter,
            sensors: sensors, clock: clock, policy: ModelPolicy(), images: images, makeID: makeID,
            utcOffsetSeconds: utcOffsetSeconds, verify: verify, start: start,
            alertReceiver: configuration.alertReceiver)
    }
}

/// A device that shows no notifications.
private struct NoPresenter: NotificationPresenter {
    func add(_ notification: LocalNotification) async throws {}
    func contains(_ id: String) async -> Bool { false }
    func permission() async -> NotificationPermission { NotificationPermission(allowsAlerts: false) }
    func register(_ categories: [NotificationCategory]) async {}
}
