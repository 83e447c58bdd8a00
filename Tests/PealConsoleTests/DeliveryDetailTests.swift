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
            ("the audience does not include it", "gehört nicht zu den Empfängern"),
            ("its topic a; b is excluded", "sein Thema a; b ist ausgenommen"),
            (
                "it was not in the audience when its turn came; never handed to a network",
                "war nicht mehr unter den Empfängern, als es an der Reihe war; nie an ein Netz übergeben"
            ),
            (
                "sending; to be tried again; apns production has been stopped since 2026-11-24T02:31:04Z: BadTopic; "
                    + "RateLimit: at most 50 a second",
                "wird gesendet; wird erneut versucht; apns production ist seit 2026-11-24T02:31:04Z gestoppt: "
                    + "BadTopic; RateLimit: höchstens 50 je Sekunde"
            ),
            ("fcm is paused until 2026-11-24T02:31:04Z", "fcm ist bis 2026-11-24T02:31:04Z angehalten"),
            ("fcm is being probed: TooManyRequests", "fcm wird getestet: TooManyRequests"),
            ("QuietHours, until 2026-11-24T02:31:04Z", "QuietHours, bis 2026-11-24T02:31:04Z"),
            (
                "it was retired at 2026-11-24T02:31:04Z: Unregistered",
                "wurde am 2026-11-24T02:31:04Z stillgelegt: Unregistered"
            ),
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

    @Test(
        "explain common reasons in both languages",
        arguments: [
            ("NoCredential", "has no credential", "hat keine Zugangsdaten"),
            ("UNREGISTERED", "was removed", "vom Gerät entfernt"),
            ("InvalidProviderToken", "do not match", "gehören nicht zusammen"),
        ])
    func meanings(_ reason: String, _ english: String, _ german: String) {
        #expect(Texts(.english).meaning(reason)?.contains(english) == true)
        #expect(Texts(.german).meaning(reason)?.contains(german) == true)
        #expect(Texts(.english).meaning("TooManyRequests") == nil && Texts(.german).meaning("") == nil)
    }
}
