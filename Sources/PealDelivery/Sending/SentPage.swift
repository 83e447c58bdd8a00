internal import PealCore

/// A page on its way: who is in it, and the order that a provider works on.
struct SentPage: Sendable {
    let keys: [DeviceKey]
    let revisions: [Int64]
    /// Number of the variant that each device gets.
    let variantOf: [UInt16]
    /// nil when nobody in the page can be sent to.
    let order: PageOrder?
    /// Where each device of the order stands in `keys`; nil = at the same place.
    let places: [Int]?
    /// Devices that could not be rendered for, with the reason.
    let failures: [Int: String]
    let through: DeviceKey
    let isLast: Bool
    let readAt: Timestamp
    let sentAt: Timestamp
    let isProbe: Bool
    /// nil for small messages, which need none.
    var budgetPlace: PageBudget.Place?

    /// Where the device at `place` in `keys` stands in the order.
    func orderIndex(ofPlace place: Int) -> Int { places?.firstIndex(of: place) ?? place }

    /// Parts a page into those that can be sent to and the others, which is everybody but after a failed rendering.
    static func split(
        _ page: DevicePage, _ choice: Variants.Choice
    ) -> (page: DevicePage, variants: [UInt16], places: [Int]?, failures: [Int: String]) {
        guard !choice.failures.isEmpty else { return (page, choice.ofDevice, nil, [:]) }
        var kept = DevicePage(through: page.through, isLast: page.isLast, readAt: page.readAt, capacity: page.count)
        var places: [Int] = []
        var failures: [Int: String] = [:]
        page.arena.withUnsafeBytes { arena in
            for (index, variant) in choice.ofDevice.enumerated() {
                if let failure = choice.variants[Int(variant)].failure {
                    failures[index] = failure
                } else {
                    places.append(index)
                    kept.append(
                        key: page.keys[index],
                        address: UnsafeRawBufferPointer(rebasing: arena[page.addressRange(index)]),
                        revision: page.revisions[index], locale: page.locales[index])
                }
            }
        }
        return (kept, places.map { choice.ofDevice[$0] }, places, failures)
    }
}
