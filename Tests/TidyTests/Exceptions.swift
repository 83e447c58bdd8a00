/// What may break a rule, each with its reason. Whatever is listed here without need fails a test.
enum Exceptions {
    static let longFiles: [String: String] = [:]

    /// `path name` of functions.
    static let longFunctions: [String: String] = [:]

    static let namedDialects: [String: String] = [
        "Sources/PealCore/Apps/AppSettings.swift": "the share of experiments is named so in the API and in the store",
        "Sources/PealCore/Devices/Device.swift": "devtodev_id is the name of a device identifier in API and store",
        "Sources/PealStore/Schema/Schema.swift": "columns",
        "Sources/PealStore/Tables/AppTable.swift": "columns",
    ]

    static let unstructuredTasks: [String: String] = [
        "Sources/PealDelivery/DeliveryService.swift":
            "a cancelled caller must not cancel workers that still have answers to settle",
        "Sources/PealProviders/Requests/RequestPool.swift":
            "a page is taken at once and sent later; the task ends with its work and close() awaits it",
        "Sources/PealProviders/OAuth/AccessTokens.swift":
            "a request for a token belongs to all who wait for it, and event loops that begin one cannot await",
    ]

    /// Files outside the composition root that ask the system for time or chance.
    static let systemSources: [String: String] = [:]

    /// The composition root and what never runs inside `peal`.
    static let systemSourceFolders = [
        "Sources/PealServer/", "Sources/PealSimulator/", "Sources/PealTesting/", "Sources/PealLab/",
    ]
}
