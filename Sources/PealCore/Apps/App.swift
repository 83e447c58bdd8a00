/// A mobile or web application whose devices Peal reaches.
package struct App: Sendable, Hashable {
    package var id: AppID
    package var key: AppKey
    package var name: String
    package var bundleID: String?
    /// The app's ids in dialects whose clients have their own.
    package var dialectIDs: [DialectName: String]
    package var settings: AppSettings
    package var createdAt: Timestamp

    package init(
        id: AppID, key: AppKey, name: String, bundleID: String? = nil,
        dialectIDs: [DialectName: String] = [:], settings: AppSettings = .init(), createdAt: Timestamp
    ) {
        self.id = id
        self.key = key
        self.name = name
        self.bundleID = bundleID
        self.dialectIDs = dialectIDs
        self.settings = settings
        self.createdAt = createdAt
    }
}
