import Foundation
import PealWire
import Testing

@Suite("The wire") struct WireTests {
    @Test(
        "reads RFC 3339 and writes it in UTC with milliseconds",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2026-01-25T03:00:00.000Z", 1_769_310_000_000),
            ("2026-01-25T04:00:00.5+01:00", 1_769_310_000_500), ("2024-02-29T23:59:59.123456789Z", 1_709_251_199_123),
            ("2026-01-24T22:00:00-05:00", 1_769_310_000_000), ("2000-03-01T00:00:00Z", 951_868_800_000),
            ("1969-12-31T23:59:59.999Z", -1),
        ] as [(String, Int64)])
    func times(text: String, milliseconds: Int64) throws {
        let time = try #require(WireTime(text))
        #expect(time.milliseconds == milliseconds)
        #expect(WireTime(time.description) == time)
        #expect(time.description.count == 24 && time.description.hasSuffix("Z"))
    }

    @Test(
        "refuses what is not RFC 3339",
        arguments: [
            "", "now", "2026-01-25", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-01-25T24:00:00Z",
            "2026-01-25T03:00:00", "2026-01-25T03:00:00.Z", "2026-01-25T03:00:00Zx", "2026-01-25T03:00:00+0100",
        ])
    func badTimes(text: String) { #expect(WireTime(text) == nil) }

    @Test("agrees with the calendar on every day of 400 years")
    func days() {
        for day in stride(from: Int64(-36_500), to: 110_000, by: 97) {
            let time = WireTime(milliseconds: day * 86_400_000)
            #expect(WireTime(time.description) == time)
        }
    }

    @Test("tolerates members and values of a later version")
    func tolerance() throws {
        let sync = #"{"now":"2026-01-25T03:00:00Z","later":{"a":[1]},"messages":[]}"#
        #expect(try JSONDecoder().decode(SyncAnswer.self, from: Data(sync.utf8)).messages == [])
        let open =
            #"{"id":"a","rev":1,"start":"2026-01-25T03:00:00Z","fallback_at":"2026-01-25T04:00:00Z","content":{}}"#
        let model = #"{"v":1,"alg":"Ed25519","kid":"m1","payload":"e30=","sig":""}"#
        let mixed =
            #"{"now":"2026-01-25T03:00:00Z","messages":[5,\#(open),{"id":"b"},null,{"rev":1e99}],"#
            + #""models":[{"v":2,"parts":[]},"x",\#(model)],"rules":[],"refused":7}"#
        let answer = try JSONDecoder().decode(SyncAnswer.self, from: Data(mixed.utf8))
        #expect(answer.messages?.map(\.id) == ["a"] && answer.models?.map(\.kid) == ["m1"])
        let claim = #"{"granted":false,"reason":"moonphase","now":"2026-01-25T03:00:00Z"}"#
        #expect(try JSONDecoder().decode(ClaimAnswer.self, from: Data(claim.utf8)).reason == .closed)
    }

    @Test("reads wake-ups of Apple and Android", arguments: [false, true])
    func wakes(isText: Bool) throws {
        let userInfo: [AnyHashable: Any] =
            isText
            ? ["w": "7", "a": "1", "m": #"[["id",2,"c",1769309940000],["short"]]"#]
            : ["aps": ["content-available": 1], "w": 7, "a": 1, "m": [["id", 2, "c", 1_769_309_940_000], ["short"]]]
        let wake = try #require(WakePush(userInfo: userInfo))
        #expect(wake.sequence == 7 && wake.asksForSync)
        #expect(
            wake.messages == [
                .init(id: "id", rev: 2, campaign: "c", fallbackAt: WireTime(milliseconds: 1_769_309_940_000))
            ])
        #expect(WakePush(userInfo: ["w": "x", "m": []]) == nil)
        #expect(WakePush(userInfo: ["w": -1, "m": []]) == nil, "a server would refuse every sync that reports it")
        #expect(WakePush(userInfo: ["aps": [:]]) == nil)
    }

    @Test("finds the message of a notification, whichever API sent it")
    func references() {
        let id = "4bd6ebf1-3e4f-4a4f-9f6d-0d1c8a9f0a11"
        for userInfo: [AnyHashable: Any] in [
            ["peal": ["message": id]], ["peal": #"{"message":"\#(id)"}"#], ["_k": id.uppercased()], ["receiptId": id],
            ["aps": ["task_id": id]], ["task_id": id], ["_k": "no id", "task_id": id],
        ] {
            #expect(MessageReference.messageID(in: userInfo) == id)
        }
        #expect(MessageReference.messageID(in: [:], identifier: id) == id)
        #expect(MessageReference.messageID(in: [:], identifier: id.uppercased()) == nil, "one that iOS or the app made")
        #expect(MessageReference.messageID(in: ["_k": 7], identifier: "reminder") == nil)
    }

    @Test("has devtodev's 21 templates with a text for every button in every language")
    func templates() {
        #expect(ButtonTemplates.all.count == 21)
        for (language, texts) in ButtonLabels.texts {
            #expect(texts.count == ButtonLabels.buttons.count, "\(language)")
        }
        #expect(ButtonTemplates.all.flatMap(\.buttons).allSatisfy { ButtonLabels.buttons.contains($0.id) })
        #expect(ButtonLabels.language(for: ["xx", "de-AT"]) == "de")
        #expect(ButtonLabels.language(for: ["zh-TW"]) == "zh-hant")
    }
}

/// What the wire carries, against docs/privacy.md. Every member of every type that a phone sends has a row there.
@Suite("The privacy document") struct PrivacyTests {
    static let time = WireTime(milliseconds: 1_769_310_000_000)

    static func registration() -> Registration {
        let keys = WebSubscription.Keys(p256dh: "k", auth: "a")
        var registration = Registration(
            platform: "ios", environment: "sandbox",
            address: .subscription(WebSubscription(endpoint: "e", keys: keys, applicationServerKey: "v")))
        (registration.deviceToken, registration.userID, registration.userProof) = ("t", "u", "p")
        registration.keepsUser = true
        (registration.topics, registration.locale, registration.timeZone) = (["n"], "de", "Europe/Vienna")
        (registration.osVersion, registration.appVersion, registration.sdkVersion) = ("18", "1", "1")
        (registration.model, registration.manufacturer, registration.attributes) = ("m", "a", [:])
        var identifiers = DeviceIdentifiers()
        (identifiers.idfa, identifiers.idfv, identifiers.advertisingID) = ("1", "2", "3")
        (identifiers.androidID, identifiers.serialID, identifiers.devtodevID) = ("4", "5", "6")
        registration.identifiers = identifiers
        registration.capabilities = Capabilities(
            nseLedger: true, background: true, alerts: true, scheduledSummary: true)
        return registration
    }

    static func event() -> DeviceEvent {
        var event = DeviceEvent(eventID: "e", message: "m", type: .shown, at: time)
        (event.button, event.content, event.reason, event.snapshot) = ("b", "c", .late, "s")
        (event.trace, event.hour) = ("t", 9)
        return event
    }

    static func sync() -> SyncRequest {
        var sync = SyncRequest(device: "d", have: .init(models: [:], msgs: [:]))
        (sync.wakes, sync.events, sync.cursor) = ([1], [event()], "c")
        sync.capabilities = registration().capabilities
        return sync
    }

    /// The paths of all members, such as `identifiers.idfa`.
    static func members(_ value: some Encodable) throws -> Set<String> {
        let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(value), options: .fragmentsAllowed)
        var paths: Set<String> = []
        func walk(_ value: Any, _ path: String) {
            if let list = value as? [Any] { list.forEach { walk($0, path) } }
            for (name, member) in value as? [String: Any] ?? [:] {
                paths.insert(path + name)
                walk(member, path + name + ".")
            }
        }
        walk(json, "")
        return paths
    }

    /// The first column of the table under a heading.
    static func documented(_ heading: String) throws -> Set<String> {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../docs/privacy.md")
        let text = try String(contentsOf: page.standardized, encoding: .utf8)
        let section = try #require(text.components(separatedBy: "\n## \(heading)\n").dropFirst().first)
        let lines = section.components(separatedBy: "\n## ")[0].split(separator: "\n")
        return Set(
            lines.filter { $0.hasPrefix("| `") }.flatMap { line in
                line.dropFirst(2).prefix { $0 != "|" }.matches(of: /`([^`]+)`/).map { String($0.output.1) }
            })
    }

    @Test(
        "lists every field that leaves the phone, and no other",
        arguments: [
            ("Registration", Result { try members(registration()) }),
            (
                "Sync",
                Result { try members(sync()).filter { !$0.hasPrefix("events.") && !$0.hasPrefix("capabilities.") } }
            ),
            (
                "Claim",
                Result { try members(ClaimRequest(device: "d", claimID: "c", rev: 1, score: 0.5)) }
            ),
            ("Events", Result { try members(event()) }),
        ])
    func fields(heading: String, members: Result<Set<String>, any Error>) throws {
        #expect(try members.get() == Self.documented(heading))
    }

    @Test("is about types whose samples are complete")
    func samples() {
        func missing(_ value: Any) -> [String] {
            Mirror(reflecting: value).children.compactMap { child in
                let mirror = Mirror(reflecting: child.value)
                return mirror.displayStyle == .optional && mirror.children.isEmpty ? child.label : nil
            }
        }
        #expect(missing(Self.registration()) == [] && missing(Self.event()) == [] && missing(Self.sync()) == [])
        #expect(Self.registration().identifiers.map(missing) == [])
    }
}
