import HTTPTypes
import PealCore
import PealTesting
import Testing

/// A preview shows what is sent: path, headers and body of every request, from the API's answer to the provider's
/// order.
@Suite("A preview", .timeLimit(.minutes(5)))
struct PreviewBytesTests {
    private static let day: Int64 = 24 * 3600
    /// Configured lives of a message without an expiry: below the default, the default, and above.
    static let lives = [1800, 28 * day, 90 * day]

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var audience: JSON = ["all": true]
        var content: JSON = ["title": "Cheese", "body": "It is here", "data": ["a": "b"]]
        var options: JSON?
        var schedule: JSON?
        var method: JSON?
        /// The app's.
        var settings: JSON?
        /// From the request to the sending.
        var wait: Duration = .zero

        var message: JSON {
            .compact([
                ("audience", audience), ("content", content), ("options", options), ("schedule", schedule),
                ("method", method),
            ])
        }
    }

    private static let users = JSON.array(PreviewFixture.platforms.map(JSON.string))
    private static let start = ManualTime().now
    private static func instant(_ seconds: Int64) -> JSON { .string((start + .seconds(seconds)).description) }

    static let cases = [
        Case(testDescription: "without options"),
        Case(
            testDescription: "localized",
            content: [
                "title": ["de": "Käse", "en": "Cheese"], "body": ["de": "Er ist da", "en": "It is here"],
                "default_locale": "en", "badge": 3, "sound": "bell",
            ]),
        Case(testDescription: "with a life in seconds", options: ["ttl_seconds": 600, "collapse_key": "news"]),
        Case(testDescription: "with one attempt", options: ["ttl_seconds": 0, "priority": "low"]),
        Case(testDescription: "with an expiry before the configured end", options: ["expires_at": instant(900)]),
        Case(testDescription: "with an expiry beyond every end", options: ["expires_at": instant(400 * day)]),
        Case(
            testDescription: "with options of each platform",
            content: [
                "body": "It is here",
                "ios": ["options": ["ttl_seconds": 0, "priority": "normal", "collapse_key": "own"]],
                "android": ["options": ["expires_at": instant(200 * day)]],
                "windows": ["type": "toast", "options": ["ttl_seconds": 60]],
                "windows_phone": ["options": ["ttl_seconds": 1000, "priority": "low"]],
                "web": ["options": ["ttl_seconds": 30, "collapse_key": "web"]],
            ], options: ["ttl_seconds": 7200, "priority": "high"]),
        Case(
            testDescription: "with a platform's expiry alone",
            content: ["body": "It is here", "ios": ["options": ["expires_at": instant(400 * day)]]]),
        Case(
            testDescription: "scheduled", options: ["ttl_seconds": 600], schedule: ["at": instant(3600)],
            wait: .seconds(3600)),
        Case(testDescription: "scheduled without an expiry", schedule: ["at": instant(3600)], wait: .seconds(3600)),
        // The first time zone is 14 hours ahead of UTC, so its clocks show the time after six hours.
        Case(
            testDescription: "in the first of the recipients' time zones", options: ["ttl_seconds": 600],
            schedule: ["at": instant(20 * 3600), "in": "recipient_time_zone"],
            settings: ["default_time_zone": "Pacific/Kiritimati"], wait: .seconds(6 * 3600)),
        Case(
            testDescription: "in the background", content: ["data": ["a": "b"]],
            options: ["background": true, "collapse_key": "sync"]),
        Case(
            testDescription: "traditional in a window", audience: ["users": users],
            schedule: ["window": ["until": instant(2 * day)]], method: "traditional"),
        Case(
            testDescription: "in a window, for a good moment", audience: ["users": users],
            options: ["collapse_key": "hidden by the id on iOS"],
            schedule: ["window": ["until": instant(2 * day)]], method: "context_aware", wait: .seconds(2 * day)),
        Case(
            testDescription: "in a window with an expiry of its own", audience: ["users": users],
            options: ["ttl_seconds": .integer(3 * day)], schedule: ["window": ["until": instant(2 * day)]],
            method: "context_aware", wait: .seconds(2 * day)),
        Case(
            testDescription: "to a channel", audience: ["channel": ["id": "dHN0LXNyY2gtY2hubA=="]],
            content: ["ios": ["payload": ["aps": ["event": "update", "timestamp": 1, "content-state": ["a": 1]]]]],
            options: ["ttl_seconds": 600]),
    ]

    @Test("shows the bytes that are sent", arguments: cases, lives)
    func bytes(_ test: Case, lifeSeconds: Int64) async throws {
        try await PreviewFixture.open(lifeSeconds: lifeSeconds) { fixture in
            if let settings = test.settings { try await fixture.call(.patch, "", ["settings": settings], expect: 200) }
            let previewed = try await fixture.previewed(test.message)
            let sent = try await fixture.sent(test.message, after: test.wait)
            #expect(!sent.isEmpty)
            #expect(
                previewed == sent, "not sent: \(previewed.subtracting(sent)), not shown: \(sent.subtracting(previewed))"
            )
        }
    }

    struct Trial: Sendable {
        /// The arm that all users get; nil for a mix.
        let arm: String?
        let share: Double
        var users: [String] = PreviewFixture.platforms
        var wait: Duration = .zero
    }

    @Test(
        "of an A/B test shows the bytes that the users of each arm receive",
        arguments: [
            Trial(arm: "traditional", share: 0), Trial(arm: "traditional", share: 0.0001, users: ["android"]),
            Trial(arm: "context_aware", share: 1, wait: .seconds(2 * day)),
            Trial(arm: nil, share: 0.5, wait: .seconds(2 * day)),
        ], lives)
    func experiment(_ trial: Trial, lifeSeconds: Int64) async throws {
        let message = Case(
            testDescription: "", audience: ["users": .array(trial.users.map(JSON.string))],
            content: ["title": ["de": "Käse", "en": "Cheese"], "body": "It is here", "default_locale": "en"],
            schedule: ["window": ["until": Self.instant(2 * Self.day)]], method: "ab_test"
        ).message
        try await PreviewFixture.open(lifeSeconds: lifeSeconds) { fixture in
            let settings: JSON = ["contextpush": ["share": .number(String(trial.share))]]
            _ = try await fixture.call(.patch, "", ["settings": settings], expect: 200)
            let previewed = try await fixture.previewed(message, arm: trial.arm)
            let sent = try await fixture.sent(message, after: trial.wait)
            // A user gets one alert, in one language.
            #expect(!sent.isEmpty && sent.isSubset(of: previewed), "not shown: \(sent.subtracting(previewed))")
        }
    }

    @Test("of a message without an expiry gives every network the configured life", arguments: lives)
    func configuredLife(seconds: Int64) async throws {
        try await PreviewFixture.open(lifeSeconds: seconds) { fixture in
            let end = fixture.time.now + .seconds(seconds)
            let sent = try await fixture.sent(Case(testDescription: "").message)
            func header(_ name: String, _ platform: String) -> [String?] {
                sent.filter { $0.platform == platform }.map { $0.header(name) }
            }
            #expect(header("apns-expiration", "ios") == [String(end.seconds)])
            #expect(header("x-wns-ttl", "windows") == [String(seconds)])
            #expect(header("ttl", "web") == [String(min(seconds, Limits.webPushTTLSecondsMax))])
            let android = try #require(sent.first { $0.platform == "android" })
            let ttl = min(seconds, Limits.fcmTTLSecondsMax)
            #expect(android.body.contains(#""ttl":"\#(ttl)s""#), "\(android)")
        }
    }

    @Test("shows the configured life as the end of the message", arguments: lives)
    func end(seconds: Int64) async throws {
        try await PreviewFixture.open(lifeSeconds: seconds) { fixture in
            let accepted = try await fixture.call(
                .post, "messages", Case(testDescription: "").message, expect: 202)
            let id = try #require(accepted["id"]?.stringValue)
            let shown = try await fixture.call(.get, "messages/\(id)", expect: 200)
            #expect(shown["expires_at"] == .string((fixture.time.now + .seconds(seconds)).description))
        }
    }

    @Test("shows the size of a payload as its network counts it, and the largest fields of one that is too large")
    func size() async throws {
        let message: JSON = [
            "audience": ["all": true],
            "content": [
                "title": "Title", "body": ["en": .string(String(repeating: "x", count: 5500)), "de": "kurz"],
                "default_locale": "de", "data": ["story": "1234"],
            ],
        ]
        try await PreviewFixture.open(lifeSeconds: 600) { fixture in
            let shown = try await fixture.call(.post, "messages:validate", message, expect: 200)
            let requests = shown["requests"]?.arrayValue ?? []
            let maxima = requests.map { $0["size"]?["max"]?.integerValue }
            #expect(maxima == [4096, 4096, 4096, 4096, 5000, 5000, 3072, 3072, 3993, 3993])
            for request in requests where request["locale"] == "de" {
                #expect(request["size"]?["fields"] == nil && request["error"] == nil)
                // FCM counts the names and values that reach the device.
                let bytes = request["platform"] == "android" ? 27 : request["body_bytes"]?.integerValue
                #expect(request["size"]?["bytes"]?.integerValue == bytes)
            }
            for request in requests where request["locale"] == "en" {
                let fields = try #require(request["size"]?["fields"]?.arrayValue, "\(request.text)")
                #expect(fields.first == ["field": "content.body", "bytes": 5500])
                let sum = fields.reduce(0) { $0 + ($1["bytes"]?.integerValue ?? 0) }
                #expect(try #require(request["size"]?["bytes"]?.integerValue) >= sum)
            }
        }
    }
}
