/// The models installed on a phone: at most one for each campaign and one for all campaigns of the app. Models are
/// verified when they are installed.
public struct InstalledModels: Sendable, Hashable, Codable {
    /// The app whose models are accepted.
    public let app: String
    private var models: [String: MomentModel] = [:]
    /// The key of the model for all campaigns; no campaign has an empty name.
    private static let globalKey = ""

    /// No models. Until one is installed, every campaign uses the built-in model.
    public init(app: String) { self.app = app }

    /// Installs a model file. If it is refused, the installed model stays.
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
        return model
    }

    /// The model for a campaign: its own, else the app's, else the built-in one. Expired models are ignored.
    public func model(for campaign: String, now: Int64) -> MomentModel {
        for key in [campaign, Self.globalKey] {
            if let model = models[key], model.expires > now { return model }
        }
        return .builtIn(app: app)
    }

    /// The versions of the installed models by campaign; the model of all campaigns is under `""`.
    public var versions: [String: Int] { models.mapValues(\.version) }

    /// The installed version of a campaign's model, which tells the server whether it has a newer one; nil if none.
    public func version(of campaign: String?) -> Int? { models[campaign ?? Self.globalKey]?.version }
}
