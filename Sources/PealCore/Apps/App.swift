/// A mobile or web application whose devices Peal reaches.
package struct App: Sendable, Hashable {
    package var id: AppID
    package var key: AppKey
    package var name: String
    package var bundleID: String?
    package var richieAppID: String?
    package var devtodevAppID: String?
    package var settings: AppSettings
    package var createdAt: Timestamp

    package init(
        id: AppID, key: AppKey, name: String, bundleID: String? = nil, richieAppID: String? = nil,
        devtodevAppID: String? = nil, settings: AppSettings = .init(), createdAt: Timestamp
    ) {
        self.id = id
        self.key = key
        self.name = name
        self.bundleID = bundleID
        self.richieAppID = richieAppID
        self.devtodevAppID = devtodevAppID
        self.settings = settings
        self.createdAt = createdAt
    }
}
