import Foundation
import PealCore
import PealTesting
import Testing

/// Single pushes with the real programs, as far as the device's inbox.
@Suite("A push to a device", .serialized)
struct PushTests {
    @Test("a Pivotal push without an expiry has the latest apns-expiration, and otherwise its own")
    func pivotalExpiry() async throws {
        let fixture = try await ServerFixture()
        let server = try await fixture.startServer()
        let app = try await fixture.makeApp(server)
        let keys = "\(app)/keys"
        let caller = try await server.call("POST", keys, ["dialect": "pivotal"], expect: 201)
        let platform = try await server.call(
            "POST", keys, ["dialect": "pivotal-platform", "platform": "ios", "environment": "production"], expect: 201)
        let address = String(repeating: "AB", count: 32)
        let registered = try await pivotal(
            server, "/v1/registration", ["os": "ios", "registration_token": .string(address)],
            user: platform["platform_uuid"], secret: platform["platform_secret"])
        let device = try #require(registered["device_uuid"])
        let later = 60 * 24 * 3600 + Int64(Date().timeIntervalSince1970)
        for expiry in [nil, later] {
            let body = JSON.compact([
                ("message", ["body": "Hello"]), ("target", ["devices": [device]]),
                ("expiryTime", expiry.map { .integer($0 * 1000) }),
            ])
            let answer = try await pivotal(
                server, "/v1/push", body, user: caller["application_uuid"], secret: caller["api_key"])
            let receipt = try #require(answer["receipt_id"]?.stringValue)
            _ = try await server.waitForEnd("\(app)/messages/\(receipt)")
        }
        let headers = try await fixture.inbox(device: address.lowercased()).map { $0["headers"] ?? .null }
        #expect(headers.map { $0["apns-expiration"] } == [.string("2147483647"), .string(String(later))])
        try await server.program.stop()
    }

    @Test("a message that waits for a refused credential is sent as soon as the credential is replaced")
    func replacedCredential() async throws {
        let fixture = try await ServerFixture()
        let server = try await fixture.startServer()
        let app = try await fixture.makeApp(server)
        try await fixture.registerDevices(server, app: app, count: 3, topic: "news")
        let path = "\(app)/credentials/apns/production"
        let right = try await fixture.credential()
        guard case .object(var wrong) = right else { throw FixtureFailure("no credential") }
        wrong["key_id"] = "WRONGKEY01"
        _ = try await server.call("PUT", path, .object(wrong), expect: 200)
        let message = try await server.call(
            "POST", "\(app)/messages", ["audience": ["topics": ["news"]], "content": ["body": "at last"]], expect: 202)
        let id = try #require(message["id"]?.stringValue)
        try await Polling.wait(for: "the refusal of the credential") {
            let list = try await server.call("GET", "\(app)/credentials", expect: 200)
            return list.text.contains("InvalidProviderToken")
        }
        _ = try await server.call("PUT", path, right, expect: 200)
        let ended = try await server.waitForEnd("\(app)/messages/\(id)")
        #expect(ended["counts"]?["accepted"] == 3)
        try await server.program.stop()
    }

    private func pivotal(
        _ server: RunningServer, _ path: String, _ body: JSON, user: JSON?, secret: JSON?
    ) async throws -> JSON {
        let pair = "\(user?.stringValue ?? ""):\(secret?.stringValue ?? "")"
        let (status, answer) = try await RunningServer.request(
            "POST", server.address + path, body,
            headers: [("Authorization", "Basic  \(Data(pair.utf8).base64EncodedString())")])
        guard status == 200 else { throw FixtureFailure("\(path): \(status) \(answer.text)") }
        return answer
    }
}
