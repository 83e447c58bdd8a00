import Crypto
import Foundation
import PealDevice
import PealMoments
import PealSDK
import PealWorlds
import Synchronization

/// What kind of phone a person has.
enum PhonePlatform: String, CaseIterable {
    case ios, android
}

/// A person of PocketDay with a phone that runs the SDK. Sensors, notification centre and clock are simulated; HTTP,
/// the ledger and all decisions are real. An Android phone runs the same code, with an FCM token and data messages.
struct SimulatedPhone: Sendable {
    let person: Int
    let platform: PhonePlatform
    let user: String
    /// The address at which push networks reach the phone.
    let address: String
    let peal: Peal
    let screen: Screen
    private let world: PhonesWorld
    private let proof: String

    /// - Parameter secret: signs who the person is.
    init(_ person: Int, _ platform: PhonePlatform, in world: PhonesWorld, _ settings: PhoneSettings) {
        (self.person, self.platform) = (person, platform)
        self.world = world
        user = "p\(person)"
        address = Self.address(person, platform)
        screen = Screen()
        proof = Self.proof(user, settings.secret)
        var configuration = PealConfiguration(server: settings.server, key: settings.key)
        configuration.receivesAlerts = true
        configuration.folder = settings.folder.appendingPathComponent("\(person)")
        configuration.platform = platform.rawValue
        if platform == .android { configuration.environment = nil }
        configuration.description.timeZone = "UTC"
        var dependencies = PealDependencies(
            exchange: settings.http, presenter: screen, sensors: WorldSensors(person: person, world: world))
        dependencies.clock = settings.clock
        // Work that a phone defers is then done before the simulated world continues.
        dependencies.start = { await $0() }
        dependencies.keepsFiles = settings.keepsFiles(person)
        dependencies.utcOffsetSeconds = { _ in 0 }
        dependencies.verify = { publicKey, payload, signature in
            guard let bytes = Data(base64Encoded: publicKey),
                let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes)
            else { return false }
            return key.isValidSignature(signature, for: payload)
        }
        peal = Peal(configuration, dependencies: dependencies)
    }

    /// APNs' device tokens have 64 digits; FCM's registration tokens are opaque.
    private static func address(_ person: Int, _ platform: PhonePlatform) -> String {
        let text = String(person, radix: 16)
        return platform == .android ? "phone:\(text)" : String(repeating: "0", count: 64 - text.count) + text
    }

    /// A compact JWS over the user, HS256.
    private static func proof(_ user: String, _ secret: [UInt8]) -> String {
        func encoded(_ bytes: some Sequence<UInt8>) -> String {
            Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        }
        let signed = "\(encoded(#"{"alg":"HS256"}"#.utf8)).\(encoded(#"{"user_id":"\#(user)"}"#.utf8))"
        let code = HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: SymmetricKey(data: secret))
        return "\(signed).\(encoded(code))"
    }

    // MARK: Life

    /// The app is installed, and the person signs in and agrees to share contexts. Without a connection, the phone does
    /// it later.
    func register() async throws {
        await peal.setContextSharing(true)
        // Before the phone has an address, this needs no request.
        try await peal.signIn(user: user, proof: proof)
        await peal.setAddress(address)
    }

    /// The person opened the app.
    func openApp() async { await peal.didBecomeActive() }

    /// A wake-up arrives.
    func wake(_ payload: PhonesJSON) async {
        _ = await peal.didReceive(Push(payload.members))
        await react()
    }

    /// An alert arrives: the service extension, or Android's app, decides how it appears.
    func alert(_ payload: PhonesJSON, isShownBySystem: Bool) async {
        let push = Push(payload.members)
        guard let id = push.message else { return }
        if isShownBySystem {
            screen.alert(id, byPush: true)
        } else if await peal.receiveAlert(push) {
            screen.alert(id, byPush: true)
        }
        await react()
    }

    /// The person opens what just appeared, or does not.
    private func react() async {
        for id in screen.news() {
            let slot = world.now.slot
            screen.see(id, in: slot)
            guard world.campaign.opens(person, slot) else { continue }
            await peal.didRespond(to: Push(["peal": ["message": id]]), .opened)
        }
    }
}

/// The settings of new phones.
struct PhoneSettings: Sendable {
    let server: URL
    /// The app's device key.
    let key: String
    let secret: [UInt8]
    let folder: URL
    /// Whether all phones keep their ledgers in files. Otherwise every fiftieth does, and the others in memory, which
    /// costs a third.
    let isOnDisk: Bool
    let clock: WorldClock
    let http: PhonesHTTP

    func keepsFiles(_ person: Int) -> Bool { isOnDisk || person.isMultiple(of: 50) }
}

/// PocketDay with a campaign, at one time.
struct PhonesWorld: Sendable {
    let campaign: DailyCampaign
    let now = WorldNow()

    init(seed: Int, people: Int) { campaign = DailyCampaign(seed: seed, people: people) }

    var world: PocketDay { campaign.world }

    /// App opens of a person in an hour of a day.
    func appOpens(_ person: Int, day: Int, hour: Int) -> Int {
        let row = (person * (PocketDay.days + 1) + day) * 24 + hour
        return Int(world.openCounts[row + 24] - world.openCounts[row])
    }
}

/// What a phone senses in PocketDay.
private struct WorldSensors: Sensors {
    let person: Int
    let world: PhonesWorld

    func read() async -> Signals {
        let slot = world.now.slot
        return world.world.signals(person, slot, previous: slot)
    }
}

/// The notification centre, with everything that ever alerted.
final class Screen: NotificationPresenter {
    /// What happened to one message on this phone.
    struct Appearance: Sendable {
        /// How often it alerted the person.
        var alerts = 0
        var byPush = false
        /// The slot in which the person first saw it.
        var slot: Int?
    }

    private struct State {
        var displayed: Set<String> = []
        var appearances: [String: Appearance] = [:]
        var news: [String] = []
    }

    private let state = Mutex(State())

    var appearances: [String: Appearance] { state.withLock { $0.appearances } }

    func alert(_ id: String, byPush: Bool) {
        state.withLock { state in
            state.displayed.insert(id)
            state.appearances[id, default: Appearance()].alerts += 1
            state.appearances[id]?.byPush = byPush
            state.news.append(id)
        }
    }

    /// The alerts since the last call.
    func news() -> [String] {
        state.withLock { state in
            defer { state.news = [] }
            return state.news
        }
    }

    func see(_ id: String, in slot: Int) {
        state.withLock { state in
            if state.appearances[id]?.slot == nil { state.appearances[id]?.slot = slot }
        }
    }

    func add(_ notification: LocalNotification) async throws {
        if notification.isSilent {
            state.withLock { _ = $0.displayed.insert(notification.id) }
        } else {
            alert(notification.id, byPush: false)
        }
    }

    func contains(_ id: String) async -> Bool { state.withLock { $0.displayed.contains(id) } }
    func permission() async -> NotificationPermission { NotificationPermission(allowsAlerts: true) }
    func register(_ categories: [NotificationCategory]) async {}
}
