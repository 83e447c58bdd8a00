package import PealCore

/// One HTTP API on top of the core: it reads its own requests, calls the core's verbs, and answers in its own format. A
/// dialect declares here everything that the server must know about it; `Dialects.all` is the only list of dialects.
protocol Dialect: Sendable {
    /// The name under which messages are stored and shown.
    var name: DialectName { get }
    /// The path prefixes of the dialect. If several dialects match, the longest prefix wins.
    var paths: [String] { get }
    /// The kinds of keys that authorize its requests.
    var keys: [KeyKind] { get }
    var envelope: any Envelope { get }
    /// The composers of webhook reports in the dialect's format.
    var reports: [any ReportComposer] { get }
    /// The settings that apps have for the dialect.
    var settings: [any DeclaredSetting] { get }
    /// Whether its clients have their own id for an app, which the native API shows as `<dialect>_app_id`.
    var namesApps: Bool { get }
    /// The dialect's own ids for devices, which registrations may contain as text or as a number.
    var deviceIdentifiers: [DeviceIdentifier.Kind] { get }
    /// Whether authors name the platforms of a message. Otherwise the dialect fills in all of them.
    var authorsNamePlatforms: Bool { get }
    /// The media types that it accepts as JSON.
    var mediaTypes: MediaType.Tolerance { get }
    /// Whether its POST requests may carry `Idempotency-Key`.
    var takesIdempotencyKey: Bool { get }
    /// Whether web pages of any origin may call it, without the browser's credentials.
    var servesAllOrigins: Bool { get }
    /// The largest body that it accepts, if that is less than the server's own limit.
    var bodyBytesMax: Int? { get }
    func endpoints(_ services: APIServices) -> [Endpoint]
    /// The dialect's background work: functions that run until they are cancelled.
    func background(_ services: APIServices) -> [@Sendable () async -> Void]
    /// The dialect's part of the OpenAPI document; nil if it has no endpoints yet.
    /// - Parameters:
    ///   - now: times that must be in the future are later than this.
    ///   - options: the limits that the document states.
    func document(at now: Timestamp, _ options: APIOptions) -> DialectDocument?
}

extension Dialect {
    var reports: [any ReportComposer] { [] }
    var settings: [any DeclaredSetting] { [] }
    var namesApps: Bool { false }
    var deviceIdentifiers: [DeviceIdentifier.Kind] { [] }
    var authorsNamePlatforms: Bool { false }
    var mediaTypes: MediaType.Tolerance { .clients }
    var takesIdempotencyKey: Bool { false }
    var servesAllOrigins: Bool { false }
    var bodyBytesMax: Int? { nil }

    func background(_ services: APIServices) -> [@Sendable () async -> Void] { [] }
}

/// All dialects of the server.
enum Dialects {
    static let all: [any Dialect] = [
        NativeDialect(), PivotalDialect(), RichieDialect(), ContextPushDialect(), DevtodevDialect(), DeviceDialect(),
    ]

    static let keys: [KeyKind] = all.flatMap(\.keys)
    static let settings: [any DeclaredSetting] = all.flatMap(\.settings)
    static let deviceIdentifiers: [DeviceIdentifier.Kind] = all.flatMap(\.deviceIdentifiers)

    /// The kinds of keys that consist of one secret.
    static let loneSecrets: [DialectName] = keys.filter { $0.publicHalf == nil }.map(\.name)
    /// The kinds of keys that have a public half besides the secret.
    static let pairs: [DialectName] = keys.filter { $0.publicHalf != nil }.map(\.name)

    /// Whether these are two kinds of keys of one dialect, each for its own paths.
    static func areRealms(_ first: DialectName, _ second: DialectName) -> Bool {
        first != second && all.contains { dialect in [first, second].allSatisfy(dialect.keys.map(\.name).contains) }
    }

    static func key(_ name: DialectName) -> KeyKind? { keys.first { $0.name == name } }

    /// The dialect that a path belongs to, and whose envelope errors use. Only the path decides; a path of no other
    /// dialect belongs to the native API.
    /// - Parameter raw: the path as received, for a path with an invalid escape.
    static func owner(of path: RequestPath?, raw: some StringProtocol) -> any Dialect {
        let segments = path?.segments ?? raw.split(separator: "/").map { String($0) }
        return owners.first { segments.starts(with: $0.path) }?.dialect ?? NativeDialect()
    }

    private struct Owner {
        let path: [String]
        let dialect: any Dialect
    }

    /// The longest paths first.
    private static let owners = all.flatMap { dialect in
        dialect.paths.map { Owner(path: $0.split(separator: "/").map { String($0) }, dialect: dialect) }
    }.sorted { $0.path.count > $1.path.count }
}

/// The dialects' background work: functions that run until they are cancelled.
package func dialectBackground(_ services: APIServices) -> [@Sendable () async -> Void] {
    Dialects.all.flatMap { $0.background(services) }
}

/// The names of all kinds of keys, in the order of the dialects.
package let keyKindNames: [String] = Dialects.keys.map(\.name.rawValue)

/// The composers of all dialects' reports and notices, for the store and the webhook courier.
package let reportComposers = ReportComposers(Dialects.all.flatMap(\.reports))

/// One kind of key: what the core must know about it, and the names of its values in requests and answers.
struct KeyKind: Sendable {
    let rules: KeyRules
    /// The member that holds the secret.
    let secret: String
    /// The member that holds the public half; nil if the key is one secret only.
    let publicHalf: String?
    /// The member that holds the shared secret; nil if the key has none.
    let sharedSecret: String?
    /// Whether a key is for the devices of one platform.
    let namesPlatform: Bool

    var name: DialectName { rules.dialect }

    init(
        _ name: DialectName, defaultScopes: Set<APIKey.Scope>,
        secret: (name: String, pattern: KeyRules.Pattern), publicHalf: (name: String, pattern: KeyRules.Pattern)? = nil,
        sharedSecret: String? = nil, namesPlatform: Bool = false, isSharedByApps: Bool = false,
        isGrantable: Bool = false
    ) {
        rules = KeyRules(
            dialect: name, defaultScopes: defaultScopes, secret: secret.pattern, publicHalf: publicHalf?.pattern,
            hasSharedSecret: sharedSecret != nil, isSharedByApps: isSharedByApps, isGrantable: isGrantable)
        self.secret = secret.name
        self.publicHalf = publicHalf?.name
        self.sharedSecret = sharedSecret
        self.namesPlatform = namesPlatform
    }
}

extension Query {
    /// A whole number; nil if it is missing or empty.
    /// - Throws: `invalid_field` for anything else and outside of `range`.
    func integer<Number: FixedWidthInteger>(
        _ name: String, in range: ClosedRange<Number>
    ) throws(PealError) -> Number? {
        guard let text = self[name] else { return nil }
        guard let number = Number(text), range.contains(number) else {
            throw .invalid(name, "\(name) must be an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

extension StoreReading {
    /// The app that a dialect's request names: by its id of that dialect or by its own id. nil for an unknown name.
    func app(named name: String, in dialect: DialectName) throws -> App? {
        // PostgreSQL's texts cannot contain U+0000, so no app's id does.
        guard !name.utf8.contains(0) else { return nil }
        return try app(dialect: dialect, id: name) ?? AppID(name).flatMap { try app($0) }
    }
}

extension MessagePreview {
    /// Checks a message. Errors name the field as the dialect spells it.
    func check(
        _ draft: MessageDraft, app: App, _ records: [CredentialRecord], spelling: (MessageField) -> String
    ) throws(PealError) {
        do {
            try check(draft, app: app, records)
        } catch {
            throw error.error(spelling: spelling)
        }
    }
}
