import PealCore
import Testing

@testable import PealProviders

@Suite("MPNS verdicts")
struct MPNSVerdictsTests {
    typealias State = WindowsState
    private static let hour = Duration.seconds(3600)

    static let rows: [(Int, State, Verdict, String)] = [
        (200, State(), .accepted, ""),
        (200, State(notification: "received", device: "connected", subscription: "active"), .accepted, ""),
        (
            200, State(notification: "received", device: "tempdisconnected", subscription: "active"), .accepted,
            "TempDisconnected"
        ),
        (200, State(notification: "received", device: "inactive"), .accepted, "Inactive"),
        (200, State(notification: "received", device: "disconnected"), .accepted, "Disconnected"),
        (200, State(notification: "received", device: "somethingnew"), .accepted, ""),
        (200, State(notification: "suppressed", device: "connected"), .accepted, "Suppressed"),
        (200, State(notification: "dropped"), .accepted, "Dropped"),
        (200, State(notification: "somethingnew"), .accepted, ""),
        (200, State(notification: "queuefull"), .holdAddress(after: .seconds(300)), "QueueFull"),
        (302, State(), .rejectMessage, "Status302"),
        (400, State(), .rejectMessage, "BadRequest"),
        (401, State(), .stopApp, "Unauthorized"),
        (403, State(), .rejectMessage, "Status403"),
        (404, State(), .retireAddress(since: nil, isSuspicious: false), "NotFound"),
        (
            404, State(notification: "dropped", device: "connected", subscription: "expired"),
            .retireAddress(since: nil, isSuspicious: false), "SubscriptionExpired"
        ),
        (405, State(), .rejectMessage, "MethodNotAllowed"),
        (406, State(notification: "dropped"), .holdAddress(after: hour), "DailyLimitReached"),
        (406, State(retryAfter: .seconds(7200)), .holdAddress(after: .seconds(7200)), "DailyLimitReached"),
        (408, State(), .retry(after: nil), "Status408"),
        (410, State(), .rejectMessage, "Status410"),
        (412, State(device: "inactive"), .holdAddress(after: hour), "DeviceInactive"),
        (412, State(retryAfter: .seconds(5)), .holdAddress(after: hour), "DeviceInactive"),
        (500, State(), .retry(after: nil), "Status500"),
        (503, State(), .retry(after: .seconds(120)), "ServiceUnavailable"),
        (503, State(retryAfter: .seconds(600)), .retry(after: .seconds(600)), "ServiceUnavailable"),
    ]

    @Test("follow the table", arguments: rows)
    func table(status: Int, state: State, verdict: Verdict, reason: String) {
        #expect(
            MPNSVerdicts.answer(status: status, state)
                == ProviderAnswer(.verdict(verdict), reason: reason, status: status))
    }
}
