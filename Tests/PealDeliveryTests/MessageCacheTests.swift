import PealCore
import Testing

@testable import PealDelivery

@Suite("The messages that are kept in memory")
struct MessageCacheTests {
    private let cache = MessageCache()

    private func keep(_ number: Int, locales: Int = 1, readAt: Duration = .zero) {
        let now = Timestamp(seconds: 1_800_000_000)
        let message = Message(
            id: Self.id(number), app: 1, state: .sending, dialect: "native", campaignID: nil, createdAt: now,
            startAt: nil, expiresAt: now + .seconds(3600))
        var content = Content()
        content.body = .localized(Dictionary(uniqueKeysWithValues: (0..<locales).map { ("l\($0)", "Hello") }))
        let job = DeliveryJob(message: message, content: content, options: MessageOptions())
        _ = cache.keep(job, readAt: readAt, readAfter: cache.interruptions)
    }

    private static func id(_ number: Int) -> MessageID { MessageID(high: 1, low: UInt64(number)) }

    private func has(_ number: Int) -> Bool { cache.work(Self.id(number), notBefore: nil) != nil }

    @Test("all small messages that can wait in memory stay")
    func waiting() {
        let count = Limits.directSlicesWaitingMax + Limits.directSlicesActiveMax
        for number in 0..<count { keep(number) }
        #expect((0..<count).allSatisfy(has))
    }

    @Test("those that were not used recently make room when their texts become too many")
    func room() {
        let locales = Limits.messageTextsCachedMax / 10
        for number in 0..<8 { keep(number, locales: locales) }
        #expect(has(0))
        for number in 8..<12 { keep(number, locales: locales) }
        #expect((0..<12).filter(has) == [0] + Array(4..<12))
    }

    @Test("what was read too long ago is dropped before there are too many texts")
    func age() {
        let locales = Limits.messageTextsCachedMax / 8
        for (number, second) in [0, 8, 11].enumerated() { keep(number, locales: locales, readAt: .seconds(second)) }
        #expect(!has(0) && has(1) && has(2))
    }

    @Test("an interruption removes a message, and what was read before it is not kept")
    func interruption() {
        keep(1)
        keep(2)
        let before = cache.interruptions
        cache.interrupt(Self.id(1))
        #expect(!has(1) && has(2))
        let job = cache.work(Self.id(2), notBefore: nil)?.job
        cache.interruptAll()
        if let job { _ = cache.keep(job, readAt: .zero, readAfter: before) }
        #expect(!has(2))
    }
}
