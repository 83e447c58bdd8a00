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
