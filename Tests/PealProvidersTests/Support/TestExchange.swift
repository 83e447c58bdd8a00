import NIOCore
import NIOHTTP1
import NIOPosix
import Logging
import PealCore

@testable import PealProviders

let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

extension ProviderSurroundings {
    static func test(_ time: any TimeSource, logger: Logger = quiet) -> ProviderSurroundings {
        ProviderSurroundings(
            group: MultiThreadedEventLoopGroup.singleton, time: time, randomness: SeededRandomness(), logger: logger)
    }
}

/// Treats addresses as URIs, posts the notification's body to them, and accepts 200.
struct TestExchange: RequestExchange {
    var refuses: @Sendable (RequestSubject) -> RequestRefusal? = { _ in nil }
    var trusts: @Sendable (_ origin: String) -> Bool = { _ in true }
    var judges: @Sendable (OutboundReply, RequestSubject) -> RequestJudgement = { reply, _ in
        RequestJudgement(
            ProviderAnswer(
                .verdict(reply.status == 200 ? .accepted : .rejectMessage),
                reason: reply.status == 200 ? "" : "Status\(reply.status)", status: reply.status))
    }

    func origin(of address: ArraySlice<UInt8>) -> String {
        EndpointURI(address)?.origin ?? ""
    }

    func isUntrusted(_ origin: String) -> Bool { !trusts(origin) }

    func request(for subject: RequestSubject) async throws(RequestRefusal) -> OutboundRequest {
        if let refusal = refuses(subject) { throw refusal }
        return OutboundRequest(
            url: String(decoding: subject.address, as: UTF8.self), headers: ["x-id": "\(subject.id)"],
            body: subject.notification.body.prefix)
    }

    func judge(
        _ reply: OutboundReply, to request: OutboundRequest, for subject: RequestSubject
    ) async -> RequestJudgement {
        judges(reply, subject)
    }
}

/// An order whose addresses are the given texts.
func requestOrder(
    _ addresses: [String], notifications: [Notification]? = nil, route: Route = .wns,
    credential: Credential = .mpns(.init(identity: nil)), lane: Slice.Lane = .bulk,
    deadline: Duration = .seconds(3_000_000), control: SendControl = .init(), fingerprint: String = "test"
) -> PageOrder {
    var page = DevicePage(through: DeviceKey(addresses.count), isLast: true, readAt: Timestamp(seconds: 0))
    for (number, address) in addresses.enumerated() {
        Array(address.utf8).withUnsafeBytes {
            page.append(key: DeviceKey(number + 1), address: $0, revision: 1, locale: 0)
        }
    }
    let plain = Notification(route: route, path: .init([]), headers: [], body: .init(Array("hello".utf8)))
    return PageOrder(
        slice: Slice.ID(app: 1, message: MessageID(high: 7, low: 9), route: route, rangeStart: 0, part: 0),
        credential: credential, fingerprint: fingerprint, page: page, notifications: notifications ?? [plain],
        variants: Array(repeating: 0, count: addresses.count), lane: lane, deadline: deadline, control: control)
}

/// A client for tests, with short time-outs.
func testClient(
    time: any TimeSource = ManualTime(), originsMax: Int = Limits.outboundOriginsMax,
    _ change: (inout OutboundClient.Options) -> Void = { _ in }
) throws -> OutboundClient {
    var options = OutboundClient.Options()
    options.connectTimeout = .seconds(5)
    change(&options)
    return try OutboundClient(
        options, group: MultiThreadedEventLoopGroup.singleton, time: time, originsMax: originsMax)
}

extension PageFlight.Answers {
    /// The answer of one device.
    func answer(_ index: Int) -> ProviderAnswer? { isAnswered[index] ? exceptions[index] ?? .accepted : nil }
}
