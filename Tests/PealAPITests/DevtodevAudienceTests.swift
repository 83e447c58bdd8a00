import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Testing

@Suite("A devtodev audience")
struct DevtodevAudienceTests {
    private static let all = #"""
        "ios":{"payload":{"text":"a"}},"android":{"payload":{"text":"a"}},"uwp":{"toast":{"text":"a"}}
        """#

    /// Sends a push that gets no answer, lets the time pass and returns what was stored.
    private static func draft(
        _ devtodev: DevtodevFixture, _ message: String, _ audience: String
    ) async throws -> (draft: MessageDraft, reply: Fixture.Reply) {
        async let answer = devtodev.push(message, audience: audience)
        await devtodev.fixture.clock.sleepers(1)
        devtodev.fixture.clock.advance(by: .seconds(Limits.devtodevAnswerSeconds))
        let reply = try await answer
        return (try await devtodev.draft(reply), reply)
    }

    @Test("names devices by every identifier, each once, and a token alone where there is one")
    func identifiers() async throws {
        try await DevtodevFixture.open { devtodev in
            let audience = """
                [{"token":"\(Fixture.deviceToken)","userId":"ignored","idfa":"ignored"},
                 {"idfa":"A","idfv":"V","userId":"u","devtodevId":12345},{"customUid":"c","devtodevId":"12345"},
                 {"advertisingId":"G","androidId":"N","serialId":"S","idfa":"a","token":""},{"devtodevId":" 12345 "},
                 {"token":"fcm:token-1"},{"token":"https://db5.notify.windows.com/?token=AQE"}]
                """
            let draft = try await Self.draft(devtodev, Self.all, audience).draft
            #expect(draft.audience.users == ["u", "c"])
            #expect(
                Set(draft.audience.identifiers) == [
                    .init(.idfa, "A"), .init(.idfv, "V"), .init(.init(rawValue: "devtodev_id"), "12345"),
                    .init(.advertisingID, "G"),
                    .init(.androidID, "N"), .init(.serialID, "S"),
                ])
            #expect(draft.audience.identifiers.count == 6)
            #expect(draft.audience.addresses.map(\.route) == [.apnsProduction, .fcm, .wns])
            #expect(draft.audience.platforms == [.ios, .android, .windows])
        }
    }

    struct Token: CustomTestStringConvertible, Sendable {
        let message: String
        let token: String
        let route: Route?
        var testDescription: String { "\(token.prefix(20)) \(message.prefix(12))" }
    }

    private static let hex = Fixture.deviceToken
    static let tokens = [
        Token(message: #""ios":{"payload":{"text":"a"}}"#, token: hex.uppercased(), route: .apnsProduction),
        Token(
            message: #""ios":{"payload":{"text":"a"},"options":{"sandbox":true}}"#, token: hex, route: .apnsSandbox),
        Token(message: #""android":{"payload":{"text":"a"}}"#, token: hex, route: .fcm),
        Token(message: all, token: hex, route: .apnsProduction), Token(message: all, token: "f:x", route: .fcm),
        Token(message: #""win":{"toast":{"text":"a"}}"#, token: "https://a.notify.windows.com/?t=1", route: .wns),
        Token(message: #""ios":{"payload":{"text":"a"}}"#, token: "no-hex", route: nil),
        Token(message: #""android":{"payload":{"text":"a"}}"#, token: "https://a.notify.windows.com/", route: nil),
        Token(message: #""win":{"toast":{"text":"a"}}"#, token: "https://evil.example/", route: nil),
        Token(message: #""win":{"toast":{"text":"a"}}"#, token: hex, route: nil),
    ]

    @Test("takes a token for the platform that it fits; an invalid one is skipped and reported", arguments: tokens)
    func route(one: Token) async throws {
        try await DevtodevFixture.open { devtodev in
            let audience = #"[{"token":"\#(one.token)"}]"#
            guard let route = one.route else {
                let reply = try await devtodev.push(one.message, audience: audience)
                #expect(reply.status == 200 && reply["audience"] == 0)
                #expect(reply["error_details"] == ["audience[0].token: malformed"])
                return
            }
            let draft = try await Self.draft(devtodev, one.message, audience).draft
            #expect(draft.audience.addresses.map(\.route) == [route])
        }
    }

    @Test("skips elements that no device can match, and never fails")
    func malformed() async throws {
        try await DevtodevFixture.open { devtodev in
            let long = String(repeating: "x", count: 300)
            let audience = """
                [7,{"token":{}},{"idfa":[1],"userId":"nobody"},{"idfv":"\(long)"},{"userId":"a\\u0000"},{},
                 {"userId":null,"idfa":""},{"unknownId":"x"},{"devtodevId":"abc"},{"devtodevId":1.5}]
                """
            let reply = try await devtodev.push(Self.all, audience: audience)
            #expect(
                reply["error_details"] == [
                    "audience[0]: not an object", "audience[1].token: malformed", "audience[2].idfa: malformed",
                    "audience[3].idfv: malformed", "audience[4].userId: malformed",
                    "audience[5]: no identifier", "audience[6]: no identifier", "audience[7]: no identifier",
                    "audience[8].devtodevId: malformed", "audience[9].devtodevId: malformed",
                ], "\(reply.text)")
            #expect(try await devtodev.draft(reply).audience.users == ["nobody"])
        }
    }

    @Test("ignores the advertising id that all devices without tracking have")
    func anonymous() async throws {
        try await DevtodevFixture.open { devtodev in
            let zeros = "00000000-0000-0000-0000-000000000000"
            let audience = """
                [{"idfa":"\(zeros)","userId":"nobody"},{"advertisingId":"\(zeros)"},
                 {"idfa":"\(zeros.dropLast())1"}]
                """
            let reply = try await devtodev.push(Self.all, audience: audience)
            #expect(reply["error_details"] == ["audience[1]: no identifier"], "\(reply.text)")
            let stored = try await devtodev.draft(reply).audience
            #expect(stored.identifiers == [.init(.idfa, "\(zeros.dropLast())1")])
            #expect(stored.users == ["nobody"])
        }
    }

    @Test("that is not resolved after thirty seconds counts as queued")
    func queued() async throws {
        try await DevtodevFixture.open { devtodev in
            let reply = try await Self.draft(
                devtodev, #""ios":{"payload":{"text":"a"}}"#, #"[{"token":"\#(Fixture.deviceToken)"}]"#
            ).reply
            #expect(reply["audience"] == 1 && reply["successful"] == 0 && reply["erroneous"] == 0)
            #expect(reply["data.error_details"] == ["queued"], "\(reply.text)")
        }
    }
}
