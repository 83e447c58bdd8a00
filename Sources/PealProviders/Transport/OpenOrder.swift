import PealCore

/// A page order in a pool, with what connections read of it for each device at hand.
final class OpenOrder: Sendable {
    let order: PageOrder
    let keys: [DeviceKey]
    let addressEnds: [Int32]
    let addresses: [UInt8]
    let variants: [UInt16]
    /// The largest body of the order.
    let bodyBytesMax: Int

    init(_ order: PageOrder) {
        self.order = order
        keys = order.page.keys
        addressEnds = order.page.addressEnds
        addresses = order.page.arena
        variants = order.variants
        let hasGap = order.notifications.contains { $0.body.gap != .none }
        let addressBytes = hasGap ? Self.addressBytesMax(order.page) : 0
        bodyBytesMax = order.notifications.map { $0.body.byteCount(address: addressBytes) }.max() ?? 0
    }

    private static func addressBytesMax(_ page: DevicePage) -> Int {
        var (longest, start) = (0, Int32(0))
        for end in page.addressEnds {
            longest = max(longest, Int(end - start))
            start = end
        }
        return longest
    }

    var count: Int { keys.count }

    /// Why no further request of the order may begin; nil while one may.
    func refusal(at uptime: Duration) -> Answer? {
        if order.control.isStopped { return .unsent("Stopped") }
        return uptime > order.deadline ? .unsent("Deadline") : nil
    }
}

extension Answer {
    static func unsent(_ reason: String) -> Answer { Answer(.unsent, reason: reason) }
    static func lost(_ reason: String) -> Answer { Answer(.lost, reason: reason) }
}
