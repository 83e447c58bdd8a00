internal import PealCore
internal import Synchronization

/// The renderings of one message for one route and credential, one for each locale of the content. Receives pages and
/// returns the variant of each of their devices.
final class Variants: Sendable {
    /// One rendering, or why there is none.
    struct Variant: Sendable {
        let locale: String?
        let notification: Notification
        /// nil when it can be sent.
        let failure: String?
    }

    private struct State {
        var variants: [Variant] = []
        var byLocale: [String?: UInt16] = [:]
        var byNumber: [Int32: UInt16] = [:]
        var bytes = 0
    }

    private let order: RenderOrder
    private let provider: any Provider
    private let isLocalized: Bool
    private let state = Mutex(State())

    /// - Parameter order: What all variants have in common; its locale is not used.
    init(order: RenderOrder, provider: any Provider) {
        self.order = order
        self.provider = provider
        isLocalized = !order.content.locales.isEmpty
    }

    /// Whether lifetimes in seconds that were rendered into it are still correct within a few seconds.
    func isFresh(at now: Timestamp) -> Bool { (.zero..<Self.freshness).contains(now - order.now) }
    private static let freshness = Duration.seconds(10)

    /// The choice for a page: every variant so far, and the variant of each device.
    struct Choice: Sendable {
        let variants: [Variant]
        let ofDevice: [UInt16]

        var hasFailures: Bool { variants.contains { $0.failure != nil } }
    }

    /// Chooses a variant for every device of a page, and renders new ones.
    /// - Throws: what the store throws while looking up the names of locales.
    func choose(for page: DevicePage, store: any Store) async throws -> Choice {
        guard isLocalized else { return chooseOnly(count: page.count) }
        var numbers = state.withLock { $0.byNumber }
        let unknown = Set(page.locales).subtracting(numbers.keys)
        if !unknown.isEmpty {
            let names = try await store.read { reader in
                try unknown.map { (number: $0, name: $0 == 0 ? nil : try reader.locale($0)) }
            }
            for (number, name) in names { add(number, name) }
            numbers = state.withLock { $0.byNumber }
        }
        var chosen: [UInt16] = []
        chosen.reserveCapacity(page.count)
        var last: (number: Int32, variant: UInt16) = (-1, 0)
        for number in page.locales {
            if number != last.number { last = (number, numbers[number] ?? 0) }
            chosen.append(last.variant)
        }
        return state.withLock { Choice(variants: $0.variants, ofDevice: chosen) }
    }

    private func chooseOnly(count: Int) -> Choice {
        state.withLock { state in
            if state.variants.isEmpty { _ = render(nil, &state) }
            return Choice(variants: state.variants, ofDevice: Array(repeating: 0, count: count))
        }
    }

    private func add(_ number: Int32, _ name: String?) {
        let locale = order.content.contentLocale(forDevice: name)
        state.withLock { state in
            state.byNumber[number] = state.byLocale[locale] ?? render(locale, &state)
        }
    }

    /// Beyond the limits, no variant is added: further devices get the default locale.
    private func render(_ locale: String?, _ state: inout State) -> UInt16 {
        let isFull =
            state.variants.count >= Limits.variantsPerMessageMax || state.bytes >= Limits.variantBytesPerMessageMax
        if isFull { return state.byLocale[order.content.defaultLocale] ?? 0 }
        let number = UInt16(state.variants.count)
        let variant = rendered(locale)
        state.variants.append(variant)
        state.byLocale[locale] = number
        state.bytes += variant.notification.body.prefix.count + variant.notification.body.suffix.count
        return number
    }

    private func rendered(_ locale: String?) -> Variant {
        var own = order
        own.locale = locale
        do {
            return Variant(locale: locale, notification: try provider.render(own), failure: nil)
        } catch {
            let nothing = Notification.Gapped([])
            return Variant(
                locale: locale,
                notification: Notification(route: order.route, path: nothing, headers: [], body: nothing),
                failure: Self.reason(error.code))
        }
    }

    /// The code in the style of the providers' own reasons: `payload_too_large` is `PayloadTooLarge` in the log.
    static func reason(_ code: PealError.Code) -> String {
        code.rawValue.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}
