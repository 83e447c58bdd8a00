import Foundation
import PealCore
import Testing

@testable import PealProviders

@Suite("Against nghttpd and nginx", .serialized)
struct ForeignServerTests {
    private let time = RealTime.ofSystem

    private func provider(_ url: String, ca: String, connections: Int = 4) throws -> APNsProvider {
        try APNsProvider(
            APNsConfiguration(
                production: .init(send: url, management: url), sandbox: .init(send: url, management: url), caFile: ca,
                connectionsPerPoolMax: connections),
            .test(time))
    }

    private func send(_ orders: [PageOrder], to server: ForeignServer, connections: Int = 4) async throws -> [String:
        Int]
    {
        let provider = try provider(server.url, ca: server.directory.file("cert.pem"), connections: connections)
        for order in orders { provider.send(order) }
        var tally: [String: Int] = [:]
        for order in orders {
            tally.merge(await order.flight.completed().tally, uniquingKeysWith: +)
        }
        await provider.close()
        return tally
    }

    @Test(
        "nghttpd answers every request of many variants", .timeLimit(.minutes(10)),
        arguments: [
            [], ["-m", "1"], ["-m", "7"], ["-m", "1000"], ["-c", "0"], ["-c", "200"], ["-c", "65536"],
            ["-w", "10", "-W", "14"],
            ["-b", "200"],
        ])
    func nghttpd(arguments: [String]) async throws {
        let server = try ForeignServer.nghttpd(arguments)
        let notifications = [
            testNotification(bodyBytes: 40), testNotification(bodyBytes: 4096, expiration: "0"),
            testNotification(bodyBytes: 1000, collapseID: "c"), testNotification(topic: "com.example.other"),
        ]
        let orders = (0..<4).map { testOrder(count: 500, notifications: notifications, addressPrefix: [UInt8($0)]) }
        try await expectTally(send(orders, to: server), ["verdict Status404": 2000])
    }

    @Test("nginx takes thousands of 4 KB bodies through its windows", .timeLimit(.minutes(10)))
    func flowControl() async throws {
        let server = try ForeignServer.nginx("keepalive_requests 1000000;")
        let orders = (0..<10).map { _ in testOrder(count: 1000, notifications: [testNotification(bodyBytes: 4096)]) }
        try await expectTally(send(orders, to: server), ["accepted": 10_000])
    }

    @Test(
        "nginx goes away again and again, and every request arrives once", .timeLimit(.minutes(10)),
        arguments: [5, 100, 1000])
    func goAway(requests: Int) async throws {
        let server = try ForeignServer.nginx("keepalive_requests \(requests);", logsPaths: true)
        let count = requests == 5 ? 400 : 5000
        let orders = (0..<2).map { testOrder(count: count / 2, addressPrefix: [UInt8($0)]) }
        try await expectTally(send(orders, to: server), ["accepted": count])
        let lines = try server.log(lines: count)
        #expect(lines.count == count)
        #expect(Set(lines).count == count)
    }

    @Test("nginx sees paths, ids and headers as they are meant", .timeLimit(.minutes(10)))
    func contents() async throws {
        let server = try ForeignServer.nginx("", logsPaths: true)
        let order = testOrder(
            count: 150, notifications: [testNotification(expiration: "11"), testNotification(expiration: "22")])
        try await expectTally(send([order], to: server), ["accepted": 150])
        let expected = (0..<150).map { device in
            let id = NotificationID.make(
                message: order.slice.message, inAddresses: false, key: order.page.keys[device])
            let address = Hex.encode(order.page.arena[order.page.addressRange(device)])
            return "\(id) /3/device/\(address) \(device % 2 == 0 ? 11 : 22)"
        }
        #expect(try server.log(lines: 150).sorted() == expected.sorted())
    }

    @Test("reasons in error bodies become verdicts", .timeLimit(.minutes(10)))
    func verdicts() async throws {
        let server = try ForeignServer.nginx(
            """
            location ~ ^/3/device/aa { return 410 '{"reason":"Unregistered","timestamp":5}'; }
            location ~ ^/3/device/bb { return 400 '{"reason":"BadDeviceToken"}'; }
            location ~ ^/3/device/cc { return 503 '{"reason":"ServiceUnavailable"}'; }
            """)
        let orders = [0xAA, 0xBB, 0xCC, 0xDD].map { testOrder(count: 50, addressPrefix: [$0]) }
        let tally = try await send(orders, to: server)
        #expect(
            tally == [
                "verdict Unregistered": 50, "verdict BadDeviceToken": 50, "verdict ServiceUnavailable": 50,
                "accepted": 50,
            ])
        let answer = orders[0].flight.answers.exceptions[0]
        #expect(answer?.result == .verdict(.retireAddress(since: Timestamp(milliseconds: 5), isSuspicious: false)))
    }

    @Test("a refused credential stops the order", .timeLimit(.minutes(10)))
    func refusedCredential() async throws {
        let server = try ForeignServer.nginx("", location: #"return 403 '{"reason":"InvalidProviderToken"}';"#)
        let tally = try await send([testOrder(count: 1000)], to: server, connections: 1)
        #expect(tally == ["verdict InvalidProviderToken": 1, "unsent RouteStopped": 999])
    }

    @Test("a server that is not trusted, or does not exist, returns every device unsent", .timeLimit(.minutes(10)))
    func noConnection() async throws {
        let server = try ForeignServer.nginx("")
        let other = try TestDirectory.certificates()
        for (url, ca, reason) in [
            (server.url, other.file("cert.pem"), "NoTLS"),
            ("https://127.0.0.1:\(try LoopbackPort.free())", other.file("cert.pem"), "NoConnection"),
        ] {
            let provider = try provider(url, ca: ca)
            let order = testOrder(count: 100)
            provider.send(order)
            await expectTally(order.flight.completed().tally, ["unsent \(reason)": 100])
            await provider.close()
        }
    }
}
