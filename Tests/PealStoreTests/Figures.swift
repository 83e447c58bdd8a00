import Foundation
import PealCore
import PealStore
import PealTesting
import Testing

/// Measured only when asked for: `FIGURES=1 swift test -c release --filter Figures`.
@Suite("Figures", .enabled(if: ProcessInfo.processInfo.environment["FIGURES"] != nil), .serialized)
struct Figures {
    private static let deviceCount = 200_000

    private func microseconds(_ title: String, per count: Int, _ body: () async throws -> Void) async throws {
        let duration = try await ContinuousClock().measure(body)
        let each = Double(duration.components.attoseconds) / 1e12 + Double(duration.components.seconds) * 1e6
        print("\(title): \(each / Double(count)) µs each, \(Int(1e6 * Double(count) / each)) a second")
    }

    @Test("registration, pages and settles")
    func figures() async throws {
        let fixture = try await Fixture(.sqlite)
        try await microseconds("registering new devices, 1,000 a write", per: Self.deviceCount) {
            for start in stride(from: 1, through: Self.deviceCount, by: 1000) {
                try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] session in
                    for number in start..<start + 1000 {
                        let topics = number % 16 == 0 ? ["all", "few"] : ["all"]
                        _ = try session.register(Fixture.registration(number, topics: topics), app: app, now: now)
                    }
                }
            }
        }
        for (title, audience, count) in [
            ("all", Audience.all, Self.deviceCount), ("dense topic", .topics("all"), Self.deviceCount),
            ("sparse topic", .topics("few"), Self.deviceCount / 16),
        ] {
            _ = try await fixture.send(audience)
            let slices = try await fixture.lease()
            try await microseconds("reading pages, \(title)", per: count) {
                for slice in slices { try await read(slice, fixture) }
            }
            let worker = Worker(fixture: fixture)
            try await microseconds("reading and settling, \(title)", per: count) {
                for slice in slices { _ = try await worker.run(slice) }
            }
        }
        try await microseconds("small explicit sends, 256 at once", per: 10_240) {
            for _ in 0..<40 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 1...256 {
                        group.addTask { _ = try await fixture.send(.devices(number), owner: "me") }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    private func read(_ slice: Slice, _ fixture: Fixture) async throws {
        let candidates = try await fixture.store.read { [now = fixture.now] in try $0.candidates(of: slice, now: now) }
        var cursor = slice.cursor
        for _ in 0..<10_000 {
            let page = try await fixture.store.read { [cursor, now = fixture.now] in
                try $0.page(of: slice, candidates: candidates, after: cursor, limit: 1024, now: now)
            }
            if page.isLast { return }
            cursor = page.through
        }
    }
}
