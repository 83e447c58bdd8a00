import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import PealCore

/// Sends notifications by pigeon, one request for each loft.
final class PigeonProvider: Provider {
    let reasons: Set<String> = []
    private let url: String

    init(url: String) { self.url = url }

    /// The body of the message, and how the author wants the pigeon fed.
    func render(_ order: RenderOrder) throws(ContentRefusal) -> Notification {
        let content = order.content
        let text = content.body?.text(for: order.locale, fallback: content.defaultLocale) ?? ""
        guard text.utf8.count <= 40 else {
            throw ContentRefusal(.payloadTooLarge, "a pigeon carries 40 bytes", field: .body)
        }
        let feed = content.platforms[.loft]?.fields["feed"]
        if let feed, feed.stringValue == nil {
            throw .invalid(.platform(.loft, "feed"), "feed must be a string")
        }
        return Notification(
            route: order.route, path: .init(Array("/flocks/\(order.providerAppID)/lofts/".utf8), gap: .addressText),
            headers: [.init("x-feed", feed?.stringValue ?? "corn")], body: .init(Array(text.utf8)))
    }

    func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        guard let whistle = credential.value as? Whistle else { throw .unsupported("kind") }
        return CredentialExamination(
            credential: credential, facts: JSON.Members([("flock", .string(whistle.flock))]))
    }

    func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        CredentialVerification(.unverifiable, detail: "Pigeons answer only when they fly.")
    }

    func send(_ order: PageOrder) {
        guard let whistle = order.credential.value as? Whistle else {
            order.flight.answerRest(ProviderAnswer(.verdict(.stopApp), reason: "NoWhistle"))
            return
        }
        // The flight outlives this call: `send` returns at once, as its contract asks.
        Task {
            order.flight.begin(order.page.count)
            for index in 0..<order.page.count {
                let answer = await fly(order, index, whistle)
                order.flight.answer(accepted: [], others: [(index: index, answer: answer)])
            }
        }
    }

    private func fly(_ order: PageOrder, _ index: Int, _ whistle: Whistle) async -> ProviderAnswer {
        let notification = order.notifications[Int(order.variants[index])]
        let ring = String(decoding: order.page.arena[order.page.addressRange(index)], as: UTF8.self)
        var request = HTTPClientRequest(url: url + String(decoding: notification.path.prefix, as: UTF8.self) + ring)
        request.method = .POST
        request.headers.add(name: "x-whistle", value: whistle.tune)
        for header in notification.headers { request.headers.add(name: header.name, value: header.value) }
        request.body = .bytes(ByteBuffer(bytes: notification.body.prefix))
        guard let reply = try? await HTTPClient.shared.execute(request, timeout: .seconds(10)) else {
            return ProviderAnswer(.lost, reason: "PigeonLost")
        }
        return switch Int(reply.status.code) {
        case 200: .accepted
        case 410:
            ProviderAnswer(
                .verdict(.retireAddress(since: nil, isSuspicious: false)), reason: "LoftAbandoned", status: 410)
        case let status: ProviderAnswer(.verdict(.rejectMessage), reason: "Status\(status)", status: status)
        }
    }

    func drain(fingerprint: String) {}
    func share(among servers: Int) {}
    func close() async {}
}
