import PealCore
import PealReports
import Synchronization

/// A transport whose answers are determined by a test.
final class ScriptedTransport: WebhookTransport {
    private let script: @Sendable (WebhookRequest) async -> WebhookAnswer
    private let seen = Mutex<[WebhookRequest]>([])

    init(_ script: @escaping @Sendable (WebhookRequest) async -> WebhookAnswer) { self.script = script }

    convenience init(status: Int) { self.init { _ in .answered(status: status, retryAfter: nil) } }

    var requests: [WebhookRequest] { seen.withLock { $0 } }

    func send(_ request: WebhookRequest, to target: WebhookRules.Target, attempt: Int) async -> WebhookAnswer {
        seen.withLock { $0.append(request) }
        return await script(request)
    }

    func tidy() async {}
    func close() async {}
}

extension WebhookRequest {
    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
    var text: String { String(decoding: body, as: UTF8.self) }
}
