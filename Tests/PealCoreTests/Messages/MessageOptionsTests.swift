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
        #expect(options.effectivePriority == .high)
        options.isBackground = true
        #expect(options.effectivePriority == .normal)
        options.priority = .low
        #expect(options.effectivePriority == .low)
    }
}
