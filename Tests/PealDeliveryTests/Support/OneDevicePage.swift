import PealCore

@testable import PealDelivery

extension SentPage {
    /// A page of one device with that answer.
    static func ofOneDevice(_ answer: ProviderAnswer, at now: Timestamp) -> SentPage {
        let page = devicePage(at: now)
        let order = PageOrder(
            slice: Slice.ID(
                app: 1, message: MessageID(high: 1, low: 1), route: .apnsProduction, rangeStart: 0, part: 0),
            credential: .webPush([]), fingerprint: "", page: page, notifications: [notification], variants: [0],
            lane: .direct, deadline: .seconds(9), control: SendControl())
        order.flight.begin(1)
        order.flight.answer(accepted: [], others: [(0, answer)])
        var sent = SentPage(page, choice, [], now: now)
        sent.order = order
        sent.take(order.flight.answers, isFinal: true)
        return sent
    }

    /// A page of one device to which nothing was sent.
    static func ofOneDevice(ruled decision: PageRuling.Decision, at now: Timestamp) -> SentPage {
        SentPage(devicePage(at: now), choice, [PageRuling(index: 0, decision: decision)], now: now)
    }

    private static let notification = Notification(
        route: .apnsProduction, path: .init([]), headers: [], body: .init([]))
    private static var choice: Variants.Choice {
        let variant = Variants.Variant(locale: nil, notification: notification, failure: nil)
        return .init(variants: [variant], ofDevice: [0])
    }

    private static func devicePage(at now: Timestamp) -> DevicePage {
        var page = DevicePage(through: 1, isLast: true, readAt: now, capacity: 1)
        [UInt8](repeating: 7, count: 32).withUnsafeBytes { page.append(key: 1, address: $0, revision: 4, locale: 0) }
        return page
    }
}

extension Conclusion.Terms {
    /// The terms of a page whose retirements are trusted.
    /// - Parameter readyAt: when untried devices are ready again; nil for now.
    static func trusting(
        _ life: PlatformLife, now: Timestamp, attempt: Int = 0, readyAt: Timestamp? = nil,
        holdsAddresses: Bool = false, doubt: Int = 0
    ) -> Self {
        Self(
            attempt: attempt, life: life, now: now, readyAt: readyAt ?? now, suspicion: nil,
            stragglersLeasedUntil: now, holdsAddresses: holdsAddresses, doubt: doubt)
    }
}
