@testable import PealAPI
import PealCore
import PealShapes
import Testing

@Suite("App settings") struct AppSettingsTests {
    @Test("default to what the original services did")
    func defaults() {
        let settings = AppSettings()
        #expect(
            settings[PivotalSettings.verifyCustomUserID] && settings[PivotalSettings.upsertOnPut]
                && settings[PivotalSettings.sendReceipt])
        #expect(!settings[PivotalSettings.scheduleInMillisHeuristic])
        #expect(settings[RichieSettings.lenientJSON] && !settings[RichieSettings.allowHTTPLinks])
        #expect(settings[.windowGrace].count == 60 && !settings[.alertsAllDevices])
        #expect(settings[.experimentShare] == 0.5)
        #expect(settings[DeviceSettings.verifyUserID])
    }

    @Test(
        "change what is given and nothing else",
        arguments: [
            ("pivotal", "verify_custom_user_id", "false"), ("pivotal", "upsert_on_put", "false"),
            ("pivotal", "send_receipt", "false"), ("pivotal", "schedule_in_millis_heuristic", "true"),
            ("pivotal", "heartbeat", "false"),
            ("richie", "lenient_json", "false"), ("richie", "allow_http_links", "true"),
            ("contextpush", "share", "0.25"), ("contextpush", "grace_minutes", "0"),
            ("contextpush", "all_devices", "true"),
            ("device", "verify_user_id", "false"),
        ])
    func change(group: String, name: String, value: String) throws {
        let given = "{\"\(group)\":{\"\(name)\":\(value)}}"
        let settings = try Self.applied(given)
        let standard = AppSettings().completed(Dialects.settings)
        #expect(settings.json == standard.json.merging(try JSONParser.parse(given)))
        #expect(settings != standard)
        #expect(try Self.applied(settings.json.text) == settings)
    }

    @Test("stay as they are when they are null", arguments: ["null", #"{"grace_minutes":null}"#])
    func nulls(section: String) throws {
        let settings = try Self.applied(#"{"contextpush":{"grace_minutes":5}}"#)
        #expect(settings[.windowGrace].count == 5)
        #expect(try Self.applied(#"{"contextpush":\#(section)}"#, to: settings) == settings)
    }

    @Test(
        "are refused with the field that is wrong",
        arguments: [
            ("5", "settings", PealError.Code.invalidField), (#"{"pivotal":[]}"#, "settings.pivotal", .invalidField),
            (#"{"pivotal":{"send_receipt":"true"}}"#, "settings.pivotal.send_receipt", .invalidField),
            (#"{"pivotal":{"unknown":1}}"#, "settings.pivotal.unknown", .unknownField),
            (#"{"contextpush":{"share":1.5}}"#, "settings.contextpush.share", .invalidField),
            (#"{"contextpush":{"grace_minutes":-1}}"#, "settings.contextpush.grace_minutes", .invalidField),
            (#"{"contextpush":{"grace_minutes":10081}}"#, "settings.contextpush.grace_minutes", .invalidField),
            (#"{"contextpush":{"grace_minutes":"60"}}"#, "settings.contextpush.grace_minutes", .invalidField),
            (#"{"contextpush":{"share":"x"}}"#, "settings.contextpush.share", .invalidField),
            (#"{"contextpush":{"share":1e999}}"#, "settings.contextpush.share", .invalidField),
        ])
    func wrong(text: String, field: String, code: PealError.Code) throws {
        let error = try #require(throws: PealError.self) { try Self.applied(text) }
        #expect(error.field == field && error.code == code)
    }

    /// The settings after the native API has changed an app.
    private static func applied(_ settings: String, to former: AppSettings? = nil) throws -> AppSettings {
        var app = NativeAppDraft().app
        if let former { app.settings = former }
        let body: JSON = ["settings": try JSONParser.parse(settings)]
        try NativeAppShapes.facts.apply(body, to: &app, .native, now: Timestamp(milliseconds: 0))
        return app.settings
    }
}
