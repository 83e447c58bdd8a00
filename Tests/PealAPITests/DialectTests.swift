import HTTPTypes
@testable import PealAPI
import PealCore
import PealTesting
import Testing

@Suite("Dialects")
struct DialectTests {
    @Test("every dialect, kind of key and kind of webhook has a unique name")
    func names() {
        let names = Dialects.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(Set(keyKindNames).count == keyKindNames.count)
        #expect(Set(Dialects.loneSecrets).isDisjoint(with: Dialects.pairs))
        let kinds = reportComposers.all.map(\.form.kind)
        #expect(Set(kinds).count == kinds.count)
        let settings = Dialects.settings.map { "\($0.section).\($0.name)" }
        #expect(Set(settings).count == settings.count)
    }

    @Test(
        "the longest matching path decides which dialect a request belongs to",
        arguments: [
            ("/peal/v1/apps", "native"), ("/", "native"), ("/healthz", "native"), ("/unknown/x", "native"),
            ("/v1/push", "pivotal"), ("/v2/topics", "pivotal"), ("/v1", "pivotal"), ("/v1/v1/push", "pivotal"),
            ("/healthcheck", "pivotal"), ("/healthchecks", "native"), ("/v1/campaigns/x", "contextpush"),
            ("/v1/campaigns", "contextpush"), ("/v1/devtodev/categories", "devtodev"),
            ("/api/v1/push/send", "devtodev"), ("/push/v2/admin/task", "richie"), ("//push//x/", "richie"),
            ("/peal/device/v1/sync", "device"), ("/sdk/peal.js", "device"), ("/peal/device/v2", "native"),
        ] as [(String, DialectName)])
    func owners(path: String, name: DialectName) {
        #expect(Dialects.owner(of: RequestPath(path), raw: path).name == name)
        guard !path.hasPrefix("/v1/v1") else { return }
        #expect(Dialects.owner(of: nil, raw: path + "/%zz").name == name)
    }

    @Test("every endpoint belongs to the dialect whose key it takes")
    func endpoints() async throws {
        try await Fixture.open { fixture in
            for dialect in Dialects.all {
                for endpoint in dialect.endpoints(fixture.services) {
                    #expect(Dialects.owner(of: RequestPath(endpoint.path), raw: "").name == dialect.name)
                    let key = endpoint.access.authentication?.key.name
                    #expect(key.map { name in dialect.keys.contains { $0.name == name } } ?? true)
                }
            }
        }
    }

    @Test("new values of keys look as their dialect's clients expect")
    func keyPatterns() throws {
        let expected: [DialectName: (secret: String, publicHalf: String?)] = [
            "native": ("peal_[A-Za-z0-9_-]{43}", nil), "contextpush": ("CTX-[A-Za-z0-9_-]{43}", nil),
            "richie": ("[0-9a-f]{64}", "peal-[0-9a-f]{16}"), "devtodev": ("[0-9a-f]{64}", nil),
            "pivotal": (Self.uuid, Self.uuid), "pivotal-platform": (Self.uuid, Self.uuid),
            "device": ("peald_[A-Za-z0-9_-]{43}", nil),
        ]
        #expect(Set(expected.keys) == Set(Dialects.keys.map(\.name)))
        for kind in Dialects.keys {
            let patterns = try #require(expected[kind.name])
            let secret = kind.rules.secret.value(SeededRandomness(seed: 1))
            #expect(try Regex(patterns.secret).wholeMatch(in: secret) != nil, "\(kind.name): \(secret)")
            let publicHalf = kind.rules.publicHalf?.value(SeededRandomness(seed: 2))
            #expect((publicHalf == nil) == (patterns.publicHalf == nil))
            if let publicHalf, let pattern = patterns.publicHalf {
                #expect(try Regex(pattern).wholeMatch(in: publicHalf) != nil, "\(kind.name): \(publicHalf)")
            }
        }
    }

    private static let uuid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

    @Test("requests to webhooks have the documented headers and bodies")
    func forms() throws {
        let contextPush = try #require(reportComposers["contextpush"]).form
        #expect(contextPush.secretHeader == "X-CTX-Secret" && contextPush.body == .array)
        #expect(contextPush.naming == .headers(id: "X-Idempotency-Key", type: "X-CTX-Event-Type"))
        #expect(contextPush.itemsPerRequestMax == 100 && contextPush.gathering == .seconds(4))
        // A batch leaves within five seconds, although the courier looks only now and then.
        #expect(contextPush.gathering + .milliseconds(2 * Limits.webhookPollMilliseconds) <= .seconds(5))
        #expect(contextPush.requestsInFlightMax == 1)
        let richie = try #require(reportComposers["richie_report"]).form
        #expect(richie.body == .item && richie.naming == .headers(id: "X-Idempotency-Key", type: nil))
        let events = try #require(reportComposers["events"]).form
        #expect(events.body == .event && events.naming == .standard && events.secretHeader == nil)
    }

    @Test("the end of a message is reported to the webhooks that it concerns")
    func ends() {
        #expect(reportComposers.kinds(reportingEndsOf: "native") == ["events"])
        #expect(reportComposers.kinds(reportingEndsOf: "richie") == ["events", "richie_report"])
        #expect(reportComposers.kinds(reportingEndsOf: "contextpush") == ["events"])
    }
}
