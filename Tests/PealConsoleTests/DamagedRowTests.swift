import PealCore
import PealTesting
import Testing

/// What pages show although rows of the database cannot be read.
@Suite("Rows that cannot be read") struct DamagedRowTests {
    private static let warning = "Entries or their details are missing here"

    /// Three devices of one user.
    private static func register(_ fixture: ConsoleFixture) async throws {
        let (app, now) = (fixture.app.key, fixture.clock.now)
        try await fixture.store.write(.control) { store in
            for number in 1...3 {
                let address = Address(
                    route: Route(.primary[0], .production), bytes: Array(repeating: UInt8(number), count: 32))
                let registration = DeviceRegistration(
                    id: DeviceID(high: 1, low: UInt64(number)), address: address, userID: "ann")
                _ = try store.register(registration, app: app, now: now)
            }
        }
    }

    @Test("are missing on pages that say so, and hide no others", arguments: ["devices", "users/ann", ""])
    func devices(page: String) async throws {
        try await ConsoleFixture.open { fixture in
            try await Self.register(fixture)
            let cookie = try await fixture.signIn()
            let whole = try await fixture.get(fixture.page(page), cookie: cookie)
            #expect(whole.status == 200 && !whole.text.contains(Self.warning))
            try await fixture.execute("UPDATE device SET route = 999 WHERE seq = 1")
            let rest = try await fixture.get(fixture.page(page), cookie: cookie)
            #expect(rest.status == 200 && rest.text.contains(Self.warning), "\(rest.status)")
            if !page.isEmpty { #expect(rest.text.matches(of: /<tr><td/).count == 2) }
            let german = try await fixture.get(
                fixture.page(page), cookie: cookie, headers: ["Accept-Language": "de"])
            #expect(german.text.contains("Hier fehlen Einträge"))
        }
    }

    @Test("are missing in the audit log and in Compose's segments", arguments: ["audit", "segments", "compose"])
    func others(page: String) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let secret = try #require(try await fixture.get(fixture.page("segments"), cookie: cookie).formSecret)
            for name in ["a", "b"] {
                let form = ["csrf": secret, "step": "save", "name": name, "where": #"{"topic":"news"}"#]
                #expect(try await fixture.post(fixture.page("segments"), form, cookie: cookie).status == 303)
            }
            try await fixture.store.chainAudit()
            let whole = try await fixture.get(fixture.page(page), cookie: cookie)
            #expect(whole.status == 200 && !whole.text.contains(Self.warning))
            try await fixture.execute("UPDATE segment SET condition = '' WHERE name = 'a'")
            try await fixture.execute("UPDATE audit SET outcome = 'unknown' WHERE action = 'segment.put'")
            let rest = try await fixture.get(fixture.page(page), cookie: cookie)
            #expect(rest.status == 200 && rest.text.contains(Self.warning), "\(rest.status)")
        }
    }

    @Test("are missing in the export of devices, whose last line says so")
    func export() async throws {
        try await ConsoleFixture.open { fixture in
            try await Self.register(fixture)
            let cookie = try await fixture.signIn()
            let whole = try await fixture.get(fixture.page("export/devices"), cookie: cookie)
            #expect(whole.text.split(separator: "\n").count == 3 && !whole.text.contains("incomplete"))
            try await fixture.execute("UPDATE device SET route = 999 WHERE seq = 2")
            let rest = try await fixture.get(fixture.page("export/devices"), cookie: cookie)
            let lines = rest.text.split(separator: "\n")
            #expect(lines.count == 3 && lines.last == #"{"incomplete":true}"#, "\(rest.text)")
        }
    }
}
