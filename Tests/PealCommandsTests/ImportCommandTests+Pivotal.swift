import Foundation
import PealCommands
import PealCore
import Synchronization
import Testing

extension ImportCommandTests {
    @Test("reads every registration of a page as its platform, or is refused with what is missing", arguments: [6, 50])
    func platforms(count: Int) async throws {
        let fake = FakeServer()
        let misses = Mutex(false)
        try await ScriptedServer.with({ seen in
            if seen.uri.contains("/v2/topics") { return .init(status: 404, body: "") }
            if seen.uri.contains("/v1/registration/"), let id = seen.uri.split(separator: "/").last {
                if id == "u2", misses.withLock({ $0 }) { return .init(status: 404, body: "{}") }
                let found: JSON = [
                    "os": "ios", "device_uuid": .string(String(id)), "registration_token": .string("t\(id)"),
                    "tags": [["text": "News"]], "custom_user_id": "ann",
                ]
                return .init(status: 200, body: found.text)
            }
            guard seen.uri.contains("/v2/registrations") else { return fake.answer(seen) }
            let list = (1...count).map { number -> JSON in
                ["os": "ios", "device_uuid": .string("u\(number)"), "registration_token": .string("t\(number)")]
            }
            let answer: JSON = ["registrations": .array(list), "totalRegistrations": .integer(count), "totalPages": 1]
            return .init(status: 200, body: answer.text)
        }) { url, server in
            let arguments = [
                "import", "--from", "pivotal", "--url", url, "--application-uuid", "a", "--source-api-key", "s",
                "--platform", "p:q", "--json",
            ]
            let environment = ["PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": Self.app]
            let terminal = Terminal(environment: environment)
            #expect(await terminal.run(arguments) == 0, "\(terminal.errors)")
            let sent = try #require(server.requests.first { $0.uri.contains("devices:batch") })
            let devices = try #require(try JSONParser.parse(sent.body)["devices"]?.arrayValue)
            #expect(devices.map { $0["id"]?.stringValue } == (1...count).map { "u\($0)" })
            #expect(devices.allSatisfy { $0["user_id"] == "ann" && $0["topics"] == ["news"] })
            misses.withLock { $0 = true }
            let before = server.requests.count { $0.uri.contains("devices:batch") }
            let refused = Terminal(environment: environment)
            #expect(await refused.run(arguments) == 1)
            #expect(refused.errors.contains("none of the given platforms can read 1 of os ios"), "\(refused.errors)")
            #expect(server.requests.count { $0.uri.contains("devices:batch") } == before)
        }
    }

    @Test("pages a Pivotal server, and knows its platforms, tags and inactive devices")
    func pivotal() async throws {
        let pages = Mutex<[String]>([])
        let fake = FakeServer()
        try await ScriptedServer.with({ seen in
            guard seen.uri.contains("/v2/registrations") else { return fake.answer(seen) }
            pages.withLock { $0.append("\(seen.uri) \(seen.headers["authorization"] ?? "")") }
            let page = seen.uri.hasSuffix("page=1") ? 1 : 2
            let registrations = (1...(page == 1 ? 50 : 3)).map { index -> JSON in
                let number = (page - 1) * 50 + index
                return [
                    "os": number == 51 ? "bb10" : number == 2 ? "android-fcm" : "ios", "os_version": "",
                    "device_uuid": .string("u\(number)"), "registration_token": .string("t\(number)"),
                    "active": number == 3 ? false : true, "tags": [["text": "News"]], "custom_user_id": "ann",
                ]
            }
            let answer: JSON = [
                "registrations": .array(registrations), "totalRegistrations": 53, "totalPages": 2, "size": 50,
            ]
            return .init(status: 200, body: answer.text)
        }) { url, _ in
            let terminal = Terminal(
                environment: ["PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": Self.app])
            let code = await terminal.run(
                [
                    "import", "--from", "pivotal", "--url", "\(url)/v1/", "--application-uuid", "a", "--api-key", "k",
                    "--json",
                ])
            #expect(code == 1)
            let summary = try JSONParser.parse(terminal.output)
            #expect(
                summary == [
                    "created": 51, "updated": 0, "refused": 1, "skipped": 1, "resumed_after": 0, "topics": 0,
                    "subscriptions": 51,
                ])
            #expect(terminal.errors.contains(#"registration 51: os "bb10""#), "\(terminal.errors)")
            #expect(terminal.errors.contains("has no /v2/topics"))
        }
        #expect(
            pages.withLock { $0 } == [
                "/v2/registrations?size=50&page=1 Basic YTpr", "/v2/registrations?size=50&page=2 Basic YTpr",
            ])
        let device = fake.devices.withLock { $0["t2"] }
        #expect(
            device == [
                "id": "u2", "platform": "android", "address": "t2", "user_id": "ann", "topics": ["news"],
                "vendor_os": "android-fcm",
            ])
    }
}
