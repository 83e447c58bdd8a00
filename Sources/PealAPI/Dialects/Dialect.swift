package import PealCore

/// One HTTP vocabulary over the core: it reads its own requests, calls the core's verbs, and answers in its own words.
/// Everything that the server has to know of a dialect is here; `Dialects.all` is the only list of them.
protocol Dialect: Sendable {
    /// The name under which messages are stored and shown.
    var name: DialectName { get }
    /// The paths that belong to it, each with everything below it. If several dialects match, the longest path wins.
    var paths: [String] { get }
    /// The kinds of keys that open it.
    var keys: [KeyKind] { get }
    var envelope: any Envelope { get }
    /// What webhooks are sent in its words.
    var reports: [any ReportComposer] { get }
    /// The settings that apps have for it.
    var settings: [any DeclaredSetting] { get }
    /// Whether its clients have a name of their own for an app, which the native API shows as `<dialect>_app_id`.
    var namesApps: Bool { get }
    /// Whether authors name the platforms of a message. Otherwise the dialect fills in all of them.
    var authorsNamePlatforms: Bool { get }
    /// What it takes for JSON.
    var mediaTypes: MediaType.Tolerance { get }
    /// Whether its POST requests may carry `Idempotency-Key`.
    var takesIdempotencyKey: Bool { get }
    func endpoints(_ services: APIServices) -> [Endpoint]
    /// Its part of the OpenAPI document; nil if it has no endpoints yet.
    /// - Parameters:
    ///   - now: times that must lie in the future are later than this.
    ///   - options: its limits are the ones that the document states.
    func document(at now: Timestamp, _ options: APIOptions) -> DialectDocument?
}

extension Dialect {
    var reports: [any ReportComposer] { [] }
    var settings: [any DeclaredSetting] { [] }
    var namesApps: Bool { false }
    var authorsNamePlatforms: Bool { false }
    var mediaTypes: MediaType.Tolerance { .clients }
    var takesIdempotencyKey: Bool { false }
}

/// Every dialect that the server speaks.
enum Dialects {
    static let all: [any Dialect] = [
        NativeDialect(), PivotalDialect(), RichieDialect(), ContextPushDialect(), DevtodevDialect(), DeviceDialect(),
    ]

    static let keys: [KeyKind] = all.flatMap(\.keys)
    static let settings: [any DeclaredSetting] = all.flatMap(\.settings)

    /// The kinds of keys that have one secret only.
    static let loneSecrets: [DialectName] = keys.filter { $0.publicHalf == nil }.map(\.name)
    /// The kinds of keys that have a public half beside the secret.
    static let pairs: [DialectName] = keys.filter { $0.publicHalf != nil }.map(\.name)

    static func key(_ name: DialectName) -> KeyKind? { keys.first { $0.name == name } }

    /// The dialect that a path belongs to, and whose envelope refusals are written in: the path alone decides. Paths of
    /// no other dialect belong to the native API.
    /// - Parameter raw: the path as received, for one with an invalid escape.
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

/// The names of all kinds of keys, in the order of the dialects.
package let keyKindNames: [String] = Dialects.keys.map(\.name.rawValue)

/// What composes the reports and notices of all dialects: the store and the courier of webhooks work with it.
package let reportComposers = ReportComposers(Dialects.all.flatMap(\.reports))

/// One kind of key: what the core must know of it, and the names of its values where keys are made and shown.
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
        _ name: DialectName, usualScopes: Set<APIKey.Scope>,
        secret: (name: String, pattern: KeyRules.Pattern), publicHalf: (name: String, pattern: KeyRules.Pattern)? = nil,
        sharedSecret: String? = nil, namesPlatform: Bool = false, isSharedByApps: Bool = false
    ) {
        rules = KeyRules(
            dialect: name, usualScopes: usualScopes, secret: secret.pattern, publicHalf: publicHalf?.pattern,
            hasSharedSecret: sharedSecret != nil, isSharedByApps: isSharedByApps)
        self.secret = secret.name
        self.publicHalf = publicHalf?.name
        self.sharedSecret = sharedSecret
        self.namesPlatform = namesPlatform
    }
}
