import Foundation
import Synchronization

/// MPNS: a listener without TLS, and one with TLS for services that authenticate with a client certificate.
struct SimulatedMPNS: SimulatedNetwork {
    static let name = "mpns"

    private let parts: SharedParts

    init(_ parts: SharedParts) {
        self.parts = parts
    }

    var listeners: [Listener] {
        [
            parts.listener(.mpns, .plain, service()),
            parts.listener(.mpnsSecure, .secure, service(), asksForCertificate: true),
        ]
    }

    private func service() -> MPNSService {
        MPNSService(
            mode: parts.mode, channels: parts.channelStates, certificates: parts.certificates, quota: DailyQuota(),
            ids: parts.ids)
    }
}

extension PushProvider {
    /// Microsoft Push Notification Service.
    package static let mpns = PushProvider(SimulatedMPNS.self)
}

extension ListenerName {
    static let mpns = ListenerName(member: "mpns_url", scheme: "http")
    static let mpnsSecure = ListenerName(member: "mpns_secure_url")
}

/// MPNS, which was discontinued: channels over HTTP, or over TLS with a client certificate for authenticated services
/// (https://msdn.microsoft.com/library/windows/apps/ff941100(v=vs.105).aspx).
struct MPNSService: PushService {
    let provider = PushProvider.mpns
    let mode: SimulatorMode
    let channels: ChannelStates
    let certificates: ClientCertificateJudge
    let quota: DailyQuota
    let ids: IDSource

    var expired: FaultAnswer { FaultAnswer(status: 401, reason: "Dropped") }

    func judge(_ request: PushRequest, memory: inout ConnectionMemory, milliseconds: Int64) -> Judgement {
        guard mode == .strict else { return accept(request, milliseconds) }
        do throws(MPNSRefusal) {
            try MPNSJudge.judge(request)
            try checkSender(&memory, milliseconds)
            try checkChannel(request)
            let isCounted = memory.certificateDER == nil
            if isCounted, !quota.take(request.uri, milliseconds: milliseconds) { throw .limited }
        } catch {
            return .refused(reason: error.reason, error.answer(id: messageID(request)))
        }
        return accept(request, milliseconds)
    }

    /// A fault's reason becomes the notification's status; the status code determines the rest.
    func answer(_ fault: FaultAnswer, to acceptance: Acceptance) -> HTTPAnswer {
        var refusal = MPNSRefusal.standard(fault.status)
        if !fault.reason.isEmpty { refusal.notification = fault.reason }
        return refusal.answer(id: acceptance.id)
    }

    private func checkSender(_ memory: inout ConnectionMemory, _ milliseconds: Int64) throws(MPNSRefusal) {
        guard let certificate = memory.certificateDER else { return }
        if memory.standing == nil {
            memory.standing = certificates.standing(of: certificate, nowSeconds: milliseconds / 1_000)
        }
        if memory.standing == .bad { throw .standard(401) }
    }

    private func checkChannel(_ request: PushRequest) throws(MPNSRefusal) {
        switch channels.mark(of: request.uri) {
        case .expired, .unknown: throw .standard(404)
        case .throttled: throw MPNSRefusal(200, "QueueFull", device: "Connected", subscription: "Active")
        case .dropped: throw MPNSRefusal(200, "Suppressed", device: "Connected", subscription: "Active")
        case .disconnected: throw .standard(412)
        case .otherApp: throw .standard(401)
        case .limited: throw .limited
        case nil: return
        }
    }

    /// The sender's `X-MessageID`, or a generated one.
    private func messageID(_ request: PushRequest) -> String {
        request.value("x-messageid") ?? ids.uuid()
    }

    private func accept(_ request: PushRequest, _ milliseconds: Int64) -> Judgement {
        let id = messageID(request)
        let item = InboxItem(
            at: milliseconds, provider: .mpns, device: request.uri, id: id,
            headersJSON: InboxItem.headersJSON(request.headers), payload: PayloadJSON.ofText(request.body))
        let success = MPNSRefusal(200, "Received", device: "Connected", subscription: "Active")
        return .accepted(Acceptance(device: request.uri, id: id, answer: success.answer(id: id), item: item))
    }
}

/// Counts the notifications to each unauthenticated channel per day (UTC).
final class DailyQuota: Sendable {
    private struct State {
        var day: Int64 = 0
        var counts: [String: Int] = [:]
    }

    private let state = Mutex(State())

    /// Counts a notification to `uri`. Returns false when the day's quota is used up.
    func take(_ uri: String, milliseconds: Int64) -> Bool {
        state.withLock { state in
            let day = milliseconds / 86_400_000
            if state.day != day || state.counts.count >= SimulatorLimits.devicesMarkedMax {
                state = State(day: day)
            }
            guard state.counts[uri, default: 0] < SimulatorLimits.mpnsNotificationsPerDayMax else { return false }
            state.counts[uri, default: 0] += 1
            return true
        }
    }
}
