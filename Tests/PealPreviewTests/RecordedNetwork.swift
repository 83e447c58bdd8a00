import PealCore
import Synchronization
import Testing

/// A request with a placeholder for the device's address, from a preview or from an order to a network.
struct ShownRequest: Hashable, CustomStringConvertible {
    let platform: String
    let path: String
    let headers: [String]
    let body: String

    var description: String { "\n\(platform) \(path)\n  \(headers.joined(separator: "\n  "))\n  \(body)" }

    init(_ preview: JSON) throws {
        platform = try #require(preview["platform"]?.stringValue)
        path = try #require(preview["path"]?.stringValue)
        headers = try #require(preview["headers"]?.objectValue).pairs.map { "\($0): \($1.stringValue ?? $1.text)" }
        let body = try #require(preview["body"])
        self.body = body.stringValue ?? body.text
    }

    init(_ notification: Notification) {
        func shown(_ gapped: Notification.Gapped) -> String {
            let gap = gapped.gap == .none ? "" : "{address}"
            return String(decoding: gapped.prefix, as: UTF8.self) + gap + String(decoding: gapped.suffix, as: UTF8.self)
        }
        platform = notification.route.platform.rawValue
        path = shown(notification.path)
        headers =
            notification.headers.map { "\($0.name): \($0.value)" }
            + (notification.addressHeader.map { ["\($0): {address}"] } ?? [])
        body = shown(notification.body)
    }

    /// The value of a header.
    func header(_ name: String) -> String? {
        headers.first { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
    }
}

/// A network's real rendering and rules; requests are recorded and accepted instead of being sent.
final class RecordedNetwork: Provider {
    private let network: any Provider
    private let orders = Mutex<[PageOrder]>([])

    init(_ network: any Provider) { self.network = network }

    /// The request for each device.
    var requests: [ShownRequest] {
        orders.withLock { $0 }.flatMap { order in
            order.variants.map { ShownRequest(order.notifications[Int($0)]) }
        }
    }

    var reasons: Set<String> { network.reasons }
    func render(_ order: RenderOrder) throws(ContentRefusal) -> Notification { try network.render(order) }
    func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        try network.examine(credential, now: now)
    }
    func check(_ address: Address) throws(PealError) { try network.check(address) }
    func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        CredentialVerification(.accepted, status: 200, reason: "", detail: "")
    }
    func send(_ order: PageOrder) {
        orders.withLock { $0.append(order) }
        order.flight.answerRest(.accepted)
    }
    func drain(fingerprint: String) {}
    func share(among servers: Int) { network.share(among: servers) }
    func close() async { await network.close() }
}
