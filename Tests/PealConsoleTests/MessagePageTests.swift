@testable import PealConsole
@testable import PealCore
import PealTesting
import Testing

@Suite("A message's page") struct MessagePageTests {
    @Test(
        "names the closed routes that its devices wait for, and no others",
        arguments: [
            ("ios", 5, "apns", Environment.production, nil, true), ("ios", 5, "apns", .sandbox, nil, true),
            ("ios", 5, "apns", .sandbox, .production, false), ("ios", 5, "apns", .sandbox, .sandbox, true),
            ("ios", 0, "apns", .production, nil, false), ("ios", 5, "fcm", .production, nil, false),
            ("android", 5, "fcm", .production, nil, true), ("android", 5, "fcm", .production, .sandbox, true),
        ] as [(String, Int, String, Environment, Environment?, Bool)])
    func routes(
        platform: String, pending: Int, network: String, environment: Environment, only: Environment?, waits: Bool
    ) throws {
        var counts = OutcomeCounts()
        counts.pending = pending
        let report = MessageReport(
            message: Message(Self.draft(startAt: Self.origin)),
            platforms: [try #require(Platform(rawValue: platform)): counts])
        let route = RouteVerbs.Item(
            provider: try #require(ProviderName(rawValue: network)), environment: environment)
        #expect(report.waits(on: route, only) == waits)
    }

    private static let origin = Timestamp(seconds: 1_800_000_000)

    private static func draft(startAt: Timestamp, recipientsTime: Timestamp? = nil) -> MessageDraft {
        var (content, audience, options) = (Content(), Audience(), MessageOptions())
        content.title = .plain("Good morning")
        audience.includesAll = true
        options.recipientsTime = recipientsTime
        return MessageDraft(
            id: MessageID("00000000-0000-4000-8000-0000000000e1")!, app: 1, dialect: "native", audience: audience,
            content: content, options: options, startAt: startAt, createdAt: origin,
            expiresAt: startAt + .seconds(200_000))
    }

    @Test("is listed in the calendar at the time on each recipient's clock")
    func calendar() async throws {
        try await ConsoleFixture.open { fixture in
            let wall = try #require(Timestamp(rfc3339: "2027-07-01T08:00:00Z"))
            var draft = Self.draft(startAt: MessageLife.firstStart(of: wall), recipientsTime: wall)
            draft.app = fixture.app.key
            draft.createdAt = fixture.clock.now
            try await fixture.store.write(.control) { [draft] in try $0.insertMessage(draft) }
            let cookie = try await fixture.signIn()
            let page = try await fixture.get(fixture.page("calendar"), cookie: cookie).text
            #expect(page.contains(#"<h2><time datetime="2027-07-01">"#))
            #expect(page.contains(#"<li><time datetime="2027-07-01 08:00">2027-07-01 08:00</time>"#))
            #expect(page.contains("In each recipient&#39;s own time") && !page.contains("2027-06-30"))
        }
    }

    @Test("is followed by a stream that ends with what can be done now and the details")
    func stream() async throws {
        try await ConsoleFixture.open { fixture in
            var draft = Self.draft(startAt: fixture.clock.now + .seconds(3600))
            draft.app = fixture.app.key
            draft.createdAt = fixture.clock.now
            try await fixture.store.write(.control) { [draft] in try $0.insertMessage(draft) }
            let cookie = try await fixture.signIn()
            let path = fixture.page("messages/\(draft.id)")
            let page = try await fixture.get(path, cookie: cookie)
            #expect(page.text.contains("\(path)/pause") && !page.text.contains("<dt>Ended</dt>"))
            let form = ["csrf": try #require(page.formSecret), "confirmed": "1"]
            #expect(try await fixture.post("\(path)/cancel", form, cookie: cookie).status == 303)
            let events = try await fixture.get("\(path)/events", cookie: cookie).text
            #expect(events.matches(of: /event: (\w+)/).map { String($0.output.1) } == ["actions", "details", "end"])
            #expect(events.contains("<dt>Ended</dt>") && !events.contains("\(path)/pause"))
        }
    }

    @Test("estimates the remaining time from the last minute, and not while nothing is sent")
    func pace() throws {
        var pace = SendingPace()
        func left(_ accepted: Int, after seconds: Int64, _ state: Message.State = .sending) -> Double? {
            var (counts, message) = (OutcomeCounts(), Message(Self.draft(startAt: Self.origin)))
            (counts.accepted, counts.pending) = (accepted, 1000 - accepted)
            message.state = state
            let report = MessageReport(message: message, platforms: [.ios: counts])
            return pace.secondsLeft(of: report, at: Self.origin + .seconds(seconds))
        }
        #expect(left(100, after: 0) == nil && left(110, after: 1) == nil)
        #expect(left(200, after: 10) == 80)
        #expect(left(200, after: 11, .paused) == nil)
        // The rest waits, such as for a route or for the end of quiet hours.
        #expect(left(200, after: 60) != nil && left(200, after: 71) == nil)
        #expect(left(300, after: 120) != nil && left(1000, after: 121) == nil)
    }
}
