import PealCore
import PealStore
import PealTesting
import Testing

@Suite("Servers on one store")
struct ServerTests {
    @Test("servers that were seen recently are counted, until they stop", arguments: StoreUnderTest.allCases)
    func living(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        func note(_ name: String) async throws -> Int {
            try await fixture.store.write(.control) { [now = fixture.now] in
                try $0.recordServer(name, now: now, seenSince: now - .seconds(20))
            }
        }
        #expect(try await note("a") == 1)
        #expect(try await note("b") == 2)
        fixture.time.advance(by: .seconds(15))
        #expect(try await note("a") == 2)
        fixture.time.advance(by: .seconds(15))
        #expect(try await note("c") == 2, "b was not seen for 30 s")
        let seen = try await fixture.store.read { [now = fixture.now] in
            try $0.servers(seenSince: now - .seconds(20)).map(\.name)
        }
        #expect(seen == ["a", "c"])
        #expect(try await note(ServerName.pausedPrefix + "d") == 2, "a paused server sends nothing")
        #expect(try await note("c") == 2)
        try await fixture.store.write(.control) { try $0.removeServer("a") }
        #expect(try await note("c") == 1)
        fixture.time.setClock(by: .seconds(-3600))
        #expect(try await note("d") == 1, "c was seen before the clock was set back")
    }

    @Test(
        "servers agree on the first token that is young enough, which is stored sealed",
        arguments: StoreUnderTest.allCases)
    func tokens(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        func agree(_ text: String, youngerThan seconds: Int64) async throws -> String {
            let offer = SharedToken(Array(text.utf8), issuedAt: fixture.now)
            let now = fixture.now
            let token = try await fixture.store.write(.control) {
                try $0.agreeOnToken(offer, name: "key", oldest: now - .seconds(seconds), now: now)
            }
            return String(decoding: token.value, as: UTF8.self)
        }
        #expect(try await agree("first", youngerThan: 60) == "first")
        fixture.time.advance(by: .seconds(60))
        #expect(try await agree("second", youngerThan: 60) == "first")
        fixture.time.advance(by: .seconds(1))
        #expect(try await agree("third", youngerThan: 60) == "third")
        #expect(try await agree("fourth", youngerThan: 60) == "third")
        fixture.time.setClock(by: .seconds(-3600))
        #expect(try await agree("fifth", youngerThan: 60) == "fifth", "the third is ahead of the clock now")
        #expect(try await agree("sixth", youngerThan: 60) == "fifth")
        let sealed = try await fixture.test.engine.read { connection in
            try connection.values("SELECT sealed FROM provider_token", [UInt8].self)
        }
        #expect(sealed.count == 1 && !sealed[0].starts(with: Array("fifth".utf8)))
    }
}
