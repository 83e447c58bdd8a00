internal import PealCore

/// An app's settings as compact JSON. What is not there has its default.
enum SettingsCoding {
    static func encode(_ settings: AppSettings) -> [UInt8] { settings.json.bytes }

    static func decode(_ bytes: [UInt8]) throws -> AppSettings {
        var settings = AppSettings()
        do {
            try settings.apply(try JSONParser.parse(bytes))
        } catch {
            throw PealError.damaged("an app's settings")
        }
        return settings
    }
}
