@testable import PealConsole
import PealCore
import Testing

@Suite("The details of deliveries") struct DeliveryDetailTests {
    @Test(
        "are translated, except names that people chose",
        arguments: [
            ("by topic news", "über das Thema news"), ("by all", "über alle"),
            ("by topic by all", "über das Thema by all"),
            ("attempt 2 over apns production, rendered in de", "Versuch 2 über apns production, verfasst in de"),
            ("scheduled; no result from a network yet", "geplant; noch kein Ergebnis eines Netzes"),
            (
                "for a good moment, until 2026-11-24T02:31:04Z at the latest",
                "für einen guten Moment, spätestens bis 2026-11-24T02:31:04Z"
            ),
            ("until 2026-11-24T02:31:04Z", "bis 2026-11-24T02:31:04Z"), ("BadDeviceToken", "BadDeviceToken"), ("", ""),
        ])
    func translated(_ english: String, _ german: String) {
        #expect(Texts(.german).translated(detail: english) == german)
        #expect(Texts(.english).translated(detail: english) == english)
    }
}
