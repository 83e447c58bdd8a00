internal import PealCore

extension PivotalPlatform {
    /// The routes to devices of a platform by its word, as `os` of a registration; `all` means every one.
    /// - Throws: `invalid_field` for an unknown word.
    static func routes(named name: String) throws(PealError) -> [Route] {
        guard name.lowercased() != "all" else { return allRoutes }
        guard let platform = platform(os: name) else { throw .invalid("platform", "platform \(name) is unknown") }
        return Route.to(platform)
    }

    static var allRoutes: [Route] { Route.allCases.filter { !$0.isBroadcast } }

    /// The routes to devices that a platform key may register; none where the app has no such key.
    static func routes(ofKey uuid: String, app: AppKey, in store: any StoreReading) throws -> [Route] {
        guard let key = try store.storedKey(.pivotalPlatform, publicHalf: uuid)?.key, key.app == app,
            let platform = key.platform
        else { return [] }
        return family(platform).map { Route($0, key.environment ?? .production) }
    }
}
