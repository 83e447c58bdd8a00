import Logging
import NIOHTTP1
import PealCore

/// Builds the requests of one app for MPNS, and judges the replies.
struct MPNSExchange: RequestExchange {
    let rules: AddressRules
    let time: any TimeSource
    let logger: Logger

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
        return RequestJudgement(MPNSVerdicts.answer(status: reply.status, state))
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
