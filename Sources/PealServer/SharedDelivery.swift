internal import PealCore
internal import PealDelivery
internal import PealPostgres
internal import ServiceLifecycle

/// The delivery engine of one of several servers that share a database: the pauses, cancellations and changed
/// credentials that this server's verbs announce are passed on to the other servers.
final class SharedDelivery: DeliveryEngine, Service {
    private let delivery: DeliveryService
    private let signals: PostgresSignals

    init(_ delivery: DeliveryService, _ signals: PostgresSignals) {
        self.delivery = delivery
        self.signals = signals
    }

    var leaseOffer: LeaseOffer? { delivery.leaseOffer }

    func take(_ slices: [Slice], of job: DeliveryJob, under offer: LeaseOffer) {
        delivery.take(slices, of: job, under: offer)
    }

    /// The others poll the store for work every second.
    func wake() { delivery.wake() }

    func interrupt(_ message: MessageID) {
        delivery.interrupt(message)
        signals.send(Announcement.interrupt(message).text)
    }

    func credentialsChanged(at slot: CredentialSlot) {
        delivery.credentialsChanged(at: slot)
        signals.send(Announcement.credentials(slot).text)
    }

    func run() async throws {
        signals.start { [delivery] event in
            switch event {
            // Everything that was announced meanwhile is in the store.
            case .connected: delivery.rereadAll()
            case .signal(let text): Announcement(text)?.carryOut(by: delivery)
            }
        }
        try? await gracefulShutdown()
        await signals.close()
    }
}

/// An announcement to the other servers, as one line.
enum Announcement: Hashable {
    case interrupt(MessageID)
    case credentials(CredentialSlot)

    var text: String {
        switch self {
        case .interrupt(let message): "interrupt \(message)"
        case .credentials(let slot): "credentials \(slot.app) \(slot)"
        }
    }

    /// nil for an unknown announcement of a newer version.
    init?(_ text: String) {
        let words = text.split(separator: " ").map(String.init)
        switch (words.first, words.count) {
        case ("interrupt", 2):
            guard let message = MessageID(words[1]) else { return nil }
            self = .interrupt(message)
        case ("credentials", 4):
            guard let app = AppKey(words[1]), let provider = ProviderName(rawValue: words[2]),
                let environment = Environment(rawValue: words[3])
            else { return nil }
            self = .credentials(CredentialSlot(app: app, provider: provider, environment: environment))
        default: return nil
        }
    }

    func carryOut(by delivery: DeliveryService) {
        switch self {
        case .interrupt(let message): delivery.interrupt(message)
        case .credentials(let slot): delivery.credentialsChanged(at: slot)
        }
    }
}
