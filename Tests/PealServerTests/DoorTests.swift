import Foundation
import NIOCore
import NIOEmbedded
import Testing

@testable import PealServer

@Suite("The limits of a listener")
struct DoorTests {
    @Test(
        "leave descriptors for everything else",
        arguments: [
            (nil, nil, 300, 150, 37), (nil, nil, 65_536, 10_000, 2500), (nil, nil, 16, 8, 8), (100, nil, 300, 100, 25),
            (5000, nil, 300, 193, 48), (nil, 4, 300, 150, 4), (nil, 900, 300, 150, 150),
        ] as [(Int?, Int?, Int, Int, Int)])
    func capacity(total: Int?, perAddress: Int?, descriptors: Int, expected: Int, expectedPerAddress: Int) {
        let capacity = Connections.Capacity(total: total, perAddress: perAddress, descriptors: descriptors)
        #expect(capacity.total == expected)
        #expect(capacity.perAddress == expectedPerAddress)
        #expect(capacity.limitsLoopback == (perAddress != nil))
    }

    @Test("are named in the log if few files can be open", arguments: [(64, true), (1023, true), (1024, false)])
    func descriptors(limit: Int, isNamed: Bool) {
        let warning = DescriptorLimit.warning(limit)
        #expect((warning != nil) == isNamed)
        #expect(warning?.contains("only \(limit) files") ?? true)
    }

    @Test("little of one connection is read before the event loop turns to the others")
    func readSize() throws {
        let channel = EmbeddedChannel()
        ReadSize.limit(channel)
        #expect(channel.options.contains { $0.option is ChannelOptions.Types.MaxMessagesPerReadOption })
        let sizes = channel.options.compactMap { ($0.value as? AdaptiveRecvByteBufferAllocator)?.maximum }
        #expect(sizes == [ReadSize.bytesMax])
        _ = try channel.finish()
    }

    @Test("the soft limit on descriptors is raised to the hard limit")
    func descriptors() {
        #expect(DescriptorLimit.raise() >= 256)
        #expect(DescriptorLimit.raise() == DescriptorLimit.raise())
    }

    @Test("bytes may take their time at the slowest rate, and the grace")
    func allowance() {
        var deadlines = HTTPDeadlines()
        deadlines.graceSeconds = 10
        deadlines.bytesPerSecondMin = 1000
        #expect(deadlines.allowance(0) == .seconds(10))
        #expect(deadlines.allowance(5500) == .milliseconds(15_500))
    }

    @Test("a fast start does not pay for a later stall or trickle")
    func pace() {
        var deadlines = HTTPDeadlines()
        deadlines.graceSeconds = 10
        deadlines.bytesPerSecondMin = 1000
        var pace = BodyPace()
        pace.receive(4_000_000, deadlines)
        #expect(!pace.isTooSlow(waiting: .seconds(10), deadlines))
        #expect(pace.isTooSlow(waiting: .seconds(11), deadlines))
        for _ in 0..<3 {
            pace.wait(.seconds(5))
            pace.receive(1, deadlines)
        }
        #expect(pace.isTooSlow(waiting: .zero, deadlines))
    }

    @Test("a body at the slowest rate may arrive in pieces")
    func slowestRate() {
        var deadlines = HTTPDeadlines()
        deadlines.graceSeconds = 10
        deadlines.bytesPerSecondMin = 1000
        var pace = BodyPace()
        for _ in 0..<1000 {
            pace.wait(.seconds(9))
            #expect(!pace.isTooSlow(waiting: .zero, deadlines))
            pace.receive(9000, deadlines)
        }
        #expect(!pace.isTooSlow(waiting: .seconds(10), deadlines))
    }
}

@Suite("Files of the server")
struct FileModeTests {
    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test("are accessible only to its own user, even those that were open to others")
    func modes() async throws {
        let fixture = try await ServerFixture()
        let database = fixture.folder.path + "/peal.db"
        for attempt in 0..<2 {
            let server = try await fixture.startServer()
            for suffix in ["", "-wal", "-shm", ".key"] {
                #expect(try mode(database + suffix) == 0o600, "peal.db\(suffix), start \(attempt)")
            }
            try await server.program.stop()
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: database)
        }
        try await fixture.simulator.stop()
    }

    @Test("a master key that others can read stops the start with one line")
    func looseKey() async throws {
        let fixture = try await ServerFixture()
        let server = try await fixture.startServer()
        try await server.program.stop()
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: fixture.folder.path + "/peal.db.key")
        let log = fixture.folder.appendingPathComponent("refused.log")
        let program = try RunningProgram(
            "peal", arguments: ["serve"],
            environment: ["PEAL_HTTP_PORT": "0", "PEAL_STORE_URL": "sqlite:\(fixture.folder.path)/peal.db"], log: log)
        #expect(try await program.end() == 2)
        #expect(try String(contentsOf: log, encoding: .utf8).contains("chmod 600"))
        try await fixture.simulator.stop()
    }
}
