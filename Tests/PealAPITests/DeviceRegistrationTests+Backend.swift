import HTTPTypes
import PealCore
import PealTesting
import Testing

/// What a backend set on a device, when the device registers again.
extension DeviceRegistrationTests {
    @Test("a device keeps the attributes that a backend set unless it states others, or has no token")
    func attributes() async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone(1)
            let native = "…/devices/\(phone.device)"
            #expect(try await server.fixture.admin(.patch, native, ["attributes": ["plan": "pro"]]).status == 200)
            func attributes(_ given: JSON?, as token: String?) async throws -> JSON? {
                let members: [(String, JSON?)] = [("attributes", given), ("device_token", token.map(JSON.string))]
                #expect(try await server.register(1, members).status == 200)
                return try await server.fixture.admin(.get, native)["attributes"]
            }
            #expect(try await attributes(nil, as: phone.token) == ["plan": "pro"])
            #expect(try await attributes(.null, as: phone.token) == ["plan": "pro"])
            #expect(try await attributes(["age": 30], as: phone.token) == ["age": 30])
            #expect(try await attributes([:], as: phone.token) ?? [:] == [:])
            _ = try await attributes(["age": 31], as: phone.token)
            #expect(try await attributes(nil, as: nil) ?? [:] == [:], "anyone who knows the address could read them")
        }
    }

    @Test("a device keeps the identifiers that a backend set unless it states others, or has no token")
    func identifiers() async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone(1)
            let native = "…/devices/\(phone.device)"
            let given: JSON = ["identifiers": ["devtodev_id": "7"]]
            #expect(try await server.fixture.admin(.patch, native, given).status == 200)
            func identifiers(_ given: JSON?, as token: String?) async throws -> JSON? {
                let members: [(String, JSON?)] = [("identifiers", given), ("device_token", token.map(JSON.string))]
                #expect(try await server.register(1, members).status == 200)
                return try await server.fixture.admin(.get, native)["identifiers"]
            }
            #expect(try await identifiers(nil, as: phone.token) == ["devtodev_id": "7"])
            #expect(try await identifiers(.null, as: phone.token) == ["devtodev_id": "7"])
            #expect(try await identifiers(["idfv": "v"], as: phone.token) == ["idfv": "v"])
            #expect(try await identifiers([:], as: phone.token) ?? [:] == [:])
            _ = try await identifiers(["idfv": "v"], as: phone.token)
            #expect(try await identifiers(nil, as: nil) ?? [:] == [:], "anyone who knows the address could read them")
        }
    }

    @Test("a device keeps the facts that it does not mention, if it has its token", arguments: [true, false])
    func facts(hasToken: Bool) async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone(1, [("sdk_version", "1.0.0")])
            let facts = ["locale": "de-AT", "time_zone": "Europe/Vienna", "os_version": "7.1"]
                .merging(["app_version": "4.2", "model": "iPhone18,1", "manufacturer": "Apple"]) { $1 }
            let native = "…/devices/\(phone.device)"
            let given = JSON.object(JSON.Members(facts.map { ($0.key, .string($0.value)) }))
            #expect(try await server.fixture.admin(.patch, native, given).status == 200)
            let reply = try await server.register(1, [("device_token", hasToken ? .string(phone.token) : nil)])
            let bearer = try #require(reply["device_token"]?.stringValue)
            let shown = try await server.call(.get, "registration", as: bearer)
            for (name, value) in facts { #expect(shown[name] == (hasToken ? .string(value) : nil), "\(name)") }
            #expect(shown["sdk_version"] == (hasToken ? "1.0.0" : nil))
            let known = try await server.fixture.store.read { store in
                try store.app(server.fixture.app).flatMap { app in
                    try DeviceID(phone.device).flatMap { try store.device(app: app.key, id: $0) }
                }
            }
            #expect(known?.isInteractive == !hasToken, "iOS 7 has no buttons")
        }
    }

    @Test("a device keeps the user that a backend set if it asks for that, and has its token")
    func keepsUser() async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone(1, user: nil)
            let native = "…/devices/\(phone.device)"
            func user(_ members: [(String, JSON?)], as token: String?) async throws -> JSON? {
                #expect(try await server.fixture.admin(.patch, native, ["user_id": "ann"]).status == 200)
                let reply = try await server.register(1, members + [("device_token", token.map(JSON.string))])
                #expect(reply.status == 200, "\(reply.text)")
                #expect(try await server.fixture.admin(.get, native)["user_id"] == reply["user_id"] ?? .null)
                return reply["user_id"]
            }
            #expect(try await user([("keep_user", true)], as: phone.token) == "ann")
            #expect(try await user([("keep_user", false)], as: phone.token) == nil)
            #expect(try await user([("keep_user", .null)], as: phone.token) == nil)
            let proof = JSON.string(try server.proof("ben"))
            let ben: [(String, JSON?)] = [("keep_user", true), ("user_id", "ben"), ("user_proof", proof)]
            #expect(try await user(ben, as: phone.token) == "ben", "a user that is stated counts")
            #expect(try await user([("keep_user", true)], as: nil) == nil, "it may be anyone who knows the address")
        }
    }
}
