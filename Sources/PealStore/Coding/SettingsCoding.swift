internal import PealCore

/// An app's settings as compact JSON. What is not there has its default.
enum SettingsCoding {
    static func encode(_ settings: AppSettings) -> [UInt8] {
        let pivotal = settings.pivotal
        return JSON.compact([
            (
                "pivotal",
                [
                    "verify_custom_user_id": .bool(pivotal.verifyCustomUserID),
                    "upsert_on_put": .bool(pivotal.upsertOnPut),
                    "send_receipt": .bool(pivotal.sendReceipt),
                    "schedule_in_millis_heuristic": .bool(pivotal.scheduleInMillisHeuristic),
                ]
            )
        ]).bytes
    }

    static func decode(_ bytes: [UInt8]) throws -> AppSettings {
        guard let json = try? JSONParser.parse(bytes) else { throw PealError.damaged("an app's settings") }
        var settings = AppSettings()
        func read(_ name: String, _ value: inout Bool) {
            value = json["pivotal"]?[name]?.boolValue ?? value
        }
        read("verify_custom_user_id", &settings.pivotal.verifyCustomUserID)
        read("upsert_on_put", &settings.pivotal.upsertOnPut)
        read("send_receipt", &settings.pivotal.sendReceipt)
        read("schedule_in_millis_heuristic", &settings.pivotal.scheduleInMillisHeuristic)
        return settings
    }
}
