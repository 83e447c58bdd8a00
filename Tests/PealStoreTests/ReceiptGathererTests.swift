import PealStore
import PealTesting
import Synchronization
import Testing

@testable import PealCore

@Suite("Gathering of receipts")
struct ReceiptGathererTests {
    @Test("many requests share few writes, each gets its own count, and one that fails fails alone")
    func shares() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let store = WriteCounter(test.store)
        let gatherer = ReceiptGatherer(store: store)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let count = try await gatherer.write { store in
                        try store.setSetting("s\(number)", [1])
                        return number
                    }
                    #expect(count == number)
                }
            }
            try await group.waitForAll()
        }
        #expect(store.count < 100)
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<20 {
                group.addTask {
                    let result = try? await gatherer.write { store in
                        try store.setSetting("t\(number)", [1])
                        if number == 7 { throw PealError(.internal, "a fault") }
                        return 1
                    }
                    return (result == nil) == (number == 7)
                }
            }
            for await isRight in group { #expect(isRight) }
        }
        for number in 0..<20 {
            let value = try await test.store.read { try $0.setting("t\(number)") }
            #expect((value == nil) == (number == 7))
        }
    }

    private final class WriteCounter: WrappingStore {
        let store: any Store
        private let writes = Atomic(0)

        init(_ store: any Store) { self.store = store }

        var count: Int { writes.load(ordering: .relaxed) }

        func write<R: Sendable>(
            _ lane: WriteLane, _ body: @escaping @Sendable (any StoreWriting) throws -> R
        ) async throws -> R {
            writes.add(1, ordering: .relaxed)
            return try await store.write(lane, body)
        }
    }
}
