import Logging
import NIOHTTP1
import PealCore
import Synchronization

/// Builds the requests of one credential for MPNS, and judges the replies.
final class MPNSExchange: RequestExchange {
    private let rules: AddressRules
    private let time: any TimeSource
    private let logger: Logger
    /// When MPNS last accepted a request with the credential, on `TimeSource.uptime`.
    private let acceptedAt = Mutex<Duration?>(nil)

    init(rules: AddressRules, time: any TimeSource, logger: Logger) {
        (self.rules, self.time, self.logger) = (rules, time, logger)
    }

    func origin(of address: ArraySlice<UInt8>) -> String { EndpointURI(address)?.origin ?? "" }

    func request(for subject: RequestSubject) async throws(RequestRefusal) -> OutboundRequest {
        let uri = try rules.endpoint(of: subject, on: .mpns)
        var headers = Self.headers(subject.notification, now: time.now)
        headers.add(name: "x-messageid", value: subject.id.description)
        return OutboundRequest(url: uri.text, headers: headers, body: subject.notification.body.prefix)
    }

    func judge(
        _ reply: OutboundReply, to request: OutboundRequest, for subject: RequestSubject
    ) async -> RequestJudgement {
        func header(_ name: String) -> String { (reply.headers.first(name: name) ?? "").lowercased() }
        let state = WindowsState(
            notification: header("x-notificationstatus"), device: header("x-deviceconnectionstatus"),
            subscription: header("x-subscriptionstatus"), retryAfter: reply.retryAfter(now: time.now))
        logger.debug(
            "MPNS answered",
            metadata: [
                "status": .stringConvertible(reply.status), "x-notificationstatus": "\(state.notification.prefix(64))",
                "x-deviceconnectionstatus": "\(state.device.prefix(64))",
                "x-subscriptionstatus": "\(state.subscription.prefix(64))",
            ])
        return RequestJudgement(weighed(MPNSVerdicts.answer(status: reply.status, state)))
    }

    /// A channel that was opened for a service with another certificate answers 401 too. So a refusal stops the app
    /// only if MPNS has not accepted other channels.
    private func weighed(_ answer: ProviderAnswer) -> ProviderAnswer {
        let uptime = time.uptime
        if (200...299).contains(answer.status) { acceptedAt.withLock { $0 = uptime } }
        guard answer.result == .verdict(.stopApp),
            RefusalEvidence.isKnownToWork(acceptedAt.withLock(\.self), uptime: uptime)
        else { return answer }
        return answer.with(.holdAddress(after: RefusalEvidence.hold))
    }

    /// `MethodNotAllowed`, which no content causes.
    func needsAlert(_ answer: ProviderAnswer) -> Bool { answer.status == 405 }

    /// The rendered headers, with a notification class whose delay fits the remaining lifetime.
    static func headers(_ notification: Notification, now: Timestamp) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for header in notification.headers {
            guard header.name == "x-notificationclass", let rendered = Int(header.value) else {
                headers.add(name: header.name, value: header.value)
                continue
            }
            let wanted = MPNSType.delay(ofClass: rendered)
            let delay = MPNSRendering.bounded(wanted, until: notification.expiresAt, now: now)
            headers.add(name: header.name, value: String(rendered - 10 * (wanted.rawValue - delay.rawValue)))
        }
        return headers
    }
}
