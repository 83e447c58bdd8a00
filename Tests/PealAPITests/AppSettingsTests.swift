@testable import PealAPI
import PealCore
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
        var settings = AppSettings()
        try settings.apply(
            try JSONParser.parse("{\"\(group)\":{\"\(name)\":\(value),\"unknown\":1},\"unknown\":{}}"),
            declared: Dialects.settings)
        var expected = AppSettings().completed(Dialects.settings).json
        expected = expected.merging(try JSONParser.parse("{\"\(group)\":{\"\(name)\":\(value)}}"))
        #expect(settings.json == expected)
        #expect(settings != AppSettings())
        var again = AppSettings()
        try again.apply(settings.json, declared: Dialects.settings)
        #expect(again == settings)
    }

    @Test("return to their defaults when they are set to null")
    func nulls() throws {
        var settings = AppSettings()
        let nulls = #"{"pivotal":null,"richie":{"lenient_json":null},"contextpush":{"share":null},"quiet_hours":null}"#
        try settings.apply(try JSONParser.parse(nulls), declared: Dialects.settings)
        #expect(settings == AppSettings().completed(Dialects.settings))
        for null in [#"{"contextpush":{"grace_minutes":null}}"#, #"{"contextpush":null}"#] {
            try settings.apply(
                try JSONParser.parse(#"{"contextpush":{"grace_minutes":5}}"#), declared: Dialects.settings)
            #expect(settings.json["contextpush"]?["grace_minutes"] == 5)
            try settings.apply(try JSONParser.parse(null), declared: Dialects.settings)
            #expect(settings == AppSettings().completed(Dialects.settings))
        }
    }

    @Test(
        "are refused with the field that is wrong",
        arguments: [
            ("5", "settings", PealError.Code.invalidField), (#"{"pivotal":[]}"#, "settings.pivotal", .invalidField),
            (#"{"pivotal":{"send_receipt":"true"}}"#, "settings.pivotal.send_receipt", .invalidField),
            (#"{"contextpush":{"share":1.5}}"#, "settings.contextpush.share", .invalidField),
            (#"{"contextpush":{"grace_minutes":-1}}"#, "settings.contextpush.grace_minutes", .invalidField),
            (#"{"contextpush":{"grace_minutes":10081}}"#, "settings.contextpush.grace_minutes", .invalidField),
            (#"{"contextpush":{"grace_minutes":"60"}}"#, "settings.contextpush.grace_minutes", .invalidField),
            (#"{"contextpush":{"share":"x"}}"#, "settings.contextpush.share", .invalidField),
            (#"{"contextpush":{"share":1e999}}"#, "settings.contextpush.share", .invalidField),
        ])
    func wrong(text: String, field: String, code: PealError.Code) throws {
        var settings = AppSettings()
        let error = try #require(throws: PealError.self) {
            try settings.apply(try JSONParser.parse(text), declared: Dialects.settings)
        }
        #expect(error.field == field && error.code == code)
    }
}
