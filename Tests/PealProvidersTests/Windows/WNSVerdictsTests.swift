import PealCore
import Testing

@testable import PealProviders

@Suite("WNS verdicts")
struct WNSVerdictsTests {
    typealias State = WindowsState

    static let rows: [(Int, State, Verdict, String)] = [
        (200, State(), .accepted, ""),
        (200, State(notification: "received"), .accepted, ""),
        (200, State(notification: "received", device: "connected"), .accepted, ""),
        (200, State(notification: "received", device: "disconnected"), .accepted, "Disconnected"),
        (200, State(notification: "received", device: "tempdisconnected"), .accepted, "Disconnected"),
        (200, State(notification: "received", device: "somethingnew"), .accepted, ""),
        (200, State(notification: "dropped"), .accepted, "Dropped"),
        (200, State(notification: "dropped", device: "disconnected"), .accepted, "Dropped"),
        (200, State(notification: "somethingnew"), .accepted, ""),
        (200, State(notification: "channelthrottled"), .holdAddress(after: .seconds(300)), "ChannelThrottled"),
        (
            200, State(notification: "channelthrottled", retryAfter: .seconds(7)), .holdAddress(after: .seconds(7)),
            "ChannelThrottled"
        ),
        (201, State(), .accepted, ""),
        (301, State(), .rejectMessage, "Status301"), (307, State(), .rejectMessage, "Status307"),
        (400, State(notification: "dropped"), .rejectMessage, "BadRequest"),
        (401, State(), .refreshCredential, "Unauthorized"),
        (403, State(), .retireAddress(since: nil, isSuspicious: true), "Forbidden"),
        (404, State(), .retireAddress(since: nil, isSuspicious: false), "NotFound"),
        (405, State(), .rejectMessage, "MethodNotAllowed"),
        (406, State(), .holdApp(after: .seconds(60)), "NotAcceptable"),
        (406, State(retryAfter: .seconds(9)), .holdApp(after: .seconds(9)), "NotAcceptable"),
        (408, State(), .retry(after: nil), "Status408"),
        (410, State(), .retireAddress(since: nil, isSuspicious: false), "Gone"),
        (
            410, State(description: "The channel expired"), .retireAddress(since: nil, isSuspicious: false), "Gone"
        ),
        (410, State(description: "Domain Blocked"), .stopApp, "DomainBlocked"),
        (410, State(description: "the domain is BLOCKED."), .stopApp, "DomainBlocked"),
        (413, State(), .rejectMessage, "RequestEntityTooLarge"),
        (418, State(description: "new"), .rejectMessage, "Status418"),
        (429, State(), .holdApp(after: .seconds(60)), "TooManyRequests"),
        (429, State(retryAfter: .seconds(3)), .holdApp(after: .seconds(3)), "TooManyRequests"),
        (500, State(), .retry(after: nil), "InternalServerError"),
        (502, State(), .retry(after: nil), "Status502"),
        (503, State(), .retry(after: nil), "ServiceUnavailable"),
        (503, State(retryAfter: .seconds(30)), .retry(after: .seconds(30)), "ServiceUnavailable"),
        (599, State(description: "new"), .retry(after: nil), "Status599"),
    ]

    @Test("follow the table", arguments: rows)
    func table(status: Int, state: State, verdict: Verdict, reason: String) {
        #expect(
            WNSVerdicts.answer(status: status, state)
                == ProviderAnswer(.verdict(verdict), reason: reason, status: status))
    }
}
