import Foundation
import PealCore
import PealServer
import Testing

@Suite("A sixth network")
struct SixthNetworkTests {
    /// The networks of a process are fixed at its start, so this test has its own process.
    @Test("is added from this folder alone, and is sent to through the API")
    func push() async throws {
        await #expect(processExitsWith: .success) {
            try Networks.register(.pigeonPost)
            let lofts = SimulatedLofts()
            let url = try await lofts.start()
            try await PealServerFixture.run(networks: ServerNetwork.builtIn + [.pigeonPost(url: url)]) { server in
                try await SixthNetworkTests.send(server, lofts)
                try await SixthNetworkTests.refuse(server)
                try await SixthNetworkTests.describe(server)
            }
            try await lofts.stop()
        }
    }

    /// A credential, two devices and a message to both; one of them is gone.
    private static func send(_ server: PealServerFixture, _ lofts: SimulatedLofts) async throws {
        let app = try await server.makeApp()
        let credential = try await server.call(
            "PUT", "\(app)/credentials/pigeon_post", ["flock": "grey", "whistle": "three short"], expect: 200)
        #expect(credential["kind"] == "whistle" && credential["flock"] == "grey" && credential["whistle"] == nil)
        let verified = try await server.call("POST", "\(app)/credentials/pigeon_post/verify", expect: 200)
        #expect(verified["result"] == "unverifiable")
        var devices: [JSON] = []
        for ring in ["ring-7", "gone-8"] {
            let device = try await server.call(
                "POST", "\(app)/devices", ["platform": "loft", "address": .string(ring)], expect: 201)
            #expect(device["address"] == .string(ring) && device["environment"] == "production")
            devices.append(try #require(device["id"]))
        }
        let message = try await server.call(
            "POST", "\(app)/messages",
            [
                "audience": ["devices": .array(devices)],
                "content": ["body": "Come home", "loft": ["feed": "barley"]],
            ], expect: 202)
        let report = try await server.end(of: "\(app)/messages/\(try #require(message["id"]?.stringValue))")
        #expect(report["counts"]?["accepted"] == 1 && report["counts"]?["retired"] == 1)
        #expect(report["reasons"]?["LoftAbandoned"] == 1)
        #expect(
            lofts.arrivals == [
                .init(path: "/flocks/grey/lofts/ring-7", whistle: "three short", feed: "barley", text: "Come home")
            ])
        let gone = try await server.call("GET", "\(app)/devices/\(devices[1].stringValue ?? "")", expect: 200)
        #expect(gone["state"] == "retired" && gone["retired_reason"] == "LoftAbandoned")
    }

    /// The network's refusals name the field as the native API spells it.
    private static func refuse(_ server: PealServerFixture) async throws {
        let app = try await server.makeApp()
        let missing = try await server.call("PUT", "\(app)/credentials/pigeon_post", ["flock": "grey"], expect: 400)
        #expect(missing["error"]?["code"] == "missing_field" && missing["error"]?["field"] == "whistle")
        let refused = try await server.call(
            "POST", "\(app)/messages", ["audience": ["all": true], "content": ["loft": ["feed": 5]]], expect: 400)
        #expect(refused["error"]?["field"] == "content.loft.feed")
    }

    private static func describe(_ server: PealServerFixture) async throws {
        let document = try await server.call("GET", "/openapi.json", expect: 200)
        let schemas = document["components"]?["schemas"]
        #expect(schemas?["NativePigeonPostCredential"]?["required"] == ["flock", "whistle"])
        #expect(document.text.contains("putPigeonPostCredential"))
    }
}
