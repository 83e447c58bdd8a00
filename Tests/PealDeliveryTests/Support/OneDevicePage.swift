import PealCore

@testable import PealDelivery

extension SentPage {
    /// A page of one device with that answer.
    static func ofOneDevice(_ answer: ProviderAnswer, at now: Timestamp) -> SentPage {
        var page = DevicePage(through: 1, isLast: true, readAt: now, capacity: 1)
        [UInt8](repeating: 7, count: 32).withUnsafeBytes { page.append(key: 1, address: $0, revision: 4, locale: 0) }
        let notification = Notification(route: .apnsProduction, path: .init([]), headers: [], body: .init([]))
        let order = PageOrder(
            slice: Slice.ID(
                app: 1, message: MessageID(high: 1, low: 1), route: .apnsProduction, rangeStart: 0, part: 0),
            credential: .webPush([]), fingerprint: "", page: page, notifications: [notification], variants: [0],
            lane: .direct, deadline: .seconds(9), control: SendControl())
        order.flight.begin(1)
        order.flight.answer(accepted: [], others: [(0, answer)])
        let variant = Variants.Variant(locale: nil, notification: notification, failure: nil)
        var sent = SentPage(page, .init(variants: [variant], failures: [], ofDevice: [0]), [], now: now)
        sent.order = order
        sent.take(order.flight.answers, isFinal: true)
        return sent
    }
}
