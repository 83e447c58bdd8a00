import PealCore
import Testing

@Suite("Message options") struct MessageOptionsTests {
    @Test("of a platform win over the message's own, one by one")
    func resolved() {
        var options = MessageOptions()
        options.priority = .low
        options.collapseKey = "common"
        options.life = .seconds(60)
        var content = Content()
        content.platforms[.ios] = .init()
        content.platforms[.ios]?.options.priority = .high
        content.platforms[.ios]?.options.isBackground = true
        let ios = options.resolved(for: .ios, in: content)
        #expect(ios.priority == .high && ios.collapseKey == "common" && ios.isBackground && ios.life == .seconds(60))
        #expect(options.resolved(for: .android, in: content) == options)
    }

    @Test("are sent with high priority, background ones with normal, unless they say otherwise")
    func priority() {
        var options = MessageOptions()
        #expect(options.priorityInForce == .high)
        options.isBackground = true
        #expect(options.priorityInForce == .normal)
        options.priority = .low
        #expect(options.priorityInForce == .low)
    }

    @Test("end at their expiry, after their seconds, or after the default life")
    func expiry() {
        let start = Timestamp(milliseconds: 1_000_000)
        var options = MessageOptions()
        #expect(options.expiry(start: start) == start + .seconds(28 * 24 * 3600))
        #expect(options.expiry(start: start, lifeSecondsDefault: 5) == Timestamp(milliseconds: 1_005_000))
        options.life = .seconds(0)
        #expect(options.expiry(start: start) == start)
        options.life = .until(Timestamp(milliseconds: 1))
        #expect(options.expiry(start: start) == Timestamp(milliseconds: 1))
        options.life = .seconds(.max)
        #expect(options.expiry(start: start) > start)
    }
}
