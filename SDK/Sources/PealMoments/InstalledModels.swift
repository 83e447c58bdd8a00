/// The models installed on a phone: at most one for each campaign and one for all campaigns of the app. Models are
/// verified when they are installed.
public struct InstalledModels: Sendable, Hashable, Codable {
    /// The app whose models are accepted.
    public let app: String
    /// How many models are kept and reported: as many as the server accepts in a sync.
    public static let countMax = 256
    private var models: [String: MomentModel] = [:]
    /// The key of the model for all campaigns; no campaign has an empty name.
    private static let globalKey = ""

    /// No models. Until one is installed, every campaign uses the built-in model.
    public init(app: String) { self.app = app }

    /// Installs a model file, and removes models that have expired and the oldest beyond the limit. If the file is
    /// refused, the installed models stay.
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - verify: returns whether the key with that id signed the bytes.
    @discardableResult
    public mutating func install(
        _ bytes: [UInt8], now: Int64, verify: (_ keyID: String, _ payload: [UInt8], _ signature: [UInt8]) -> Bool
    ) throws(ModelRefusal) -> MomentModel {
        let model = try ModelFile(bytes: bytes).model(verify: verify)
        guard model.app == app else { throw .otherApp(model.app) }
        guard model.expires > now else { throw .expired }
        let key = model.campaign ?? Self.globalKey
        if let installed = models[key], model.version <= installed.version, model != installed {
            throw .notNewer(installed: installed.version)
        }
        models[key] = model
        prune(keeping: key, now: now)
        return model
    }

    private mutating func prune(keeping installed: String, now: Int64) {
        models = models.filter { $0.value.expires > now }
        guard models.count > Self.countMax else { return }
        models = Dictionary(newest(and: installed).map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
    }

    /// The models within the limit: that of all campaigns and the named one always, then the newest.
    private func newest(and installed: String? = nil) -> ArraySlice<(key: String, value: MomentModel)> {
        func isFixed(_ key: String) -> Bool { key == Self.globalKey || key == installed }
        return models.sorted { first, second in
            guard isFixed(first.key) == isFixed(second.key) else { return isFixed(first.key) }
            return (first.value.version, first.key) > (second.value.version, second.key)
        }.prefix(Self.countMax)
    }

    /// The model for a campaign: its own, else the app's, else the built-in one. Expired models are ignored.
    public func model(for campaign: String, now: Int64) -> MomentModel {
        for key in [campaign, Self.globalKey] {
            if let model = models[key], model.expires > now { return model }
        }
        return .builtIn(app: app)
    }

    /// The versions of the installed models by campaign, at most `countMax`; the model of all campaigns is under `""`.
    public var versions: [String: Int] {
        Dictionary(newest().map { ($0.key, $0.value.version) }, uniquingKeysWith: max)
    }

    /// The installed version of a campaign's model, which tells the server whether it has a newer one; nil if none.
    public func version(of campaign: String?) -> Int? { models[campaign ?? Self.globalKey]?.version }
}
