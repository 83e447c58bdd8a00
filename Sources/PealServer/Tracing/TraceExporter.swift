internal import AsyncHTTPClient
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import PealCore
internal import PealNetwork
internal import ServiceLifecycle
internal import Synchronization

/// Sends finished spans to a collector as OTLP over HTTP with JSON (OpenTelemetry Protocol 1.3), every second. If the
/// collector is slow or gone, spans are dropped; nothing waits, and memory stays bounded.
final class TraceExporter: TraceSink, Service {
    struct Settings: Sendable {
        /// Base URL of the collector.
        let url: String
        /// How many of a hundred messages are traced.
        let percent: Int
        let version: String
        /// Further trust roots in PEM; nil for none.
        var caFile: String?
    }

    private struct State {
        var waiting: [TraceSpan] = []
        var dropped = 0
    }

    private let settings: Settings
    private let time: any TimeSource
    private let logger: Logger
    private let client: HTTPClient
    private let state = Mutex(State())

    init(_ settings: Settings, group: any EventLoopGroup, time: any TimeSource, logger: Logger) {
        self.settings = settings
        self.time = time
        self.logger = logger
        var tls = TLSConfiguration.makeClientConfiguration()
        if let caFile = settings.caFile { tls.additionalTrustRoots = [.file(caFile)] }
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.http1_1ConnectionDebugInitializer = { AnswerGuard.add(to: $0) }
        configuration.http2StreamChannelDebugInitializer = { AnswerGuard.add(toStream: $0) }
        client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }

    /// Selects the same messages on every server, by the last byte of the id, which is random.
    func records(_ message: MessageID) -> Bool { Int(message.low % 100) < settings.percent }

    func record(_ spans: [TraceSpan]) {
        state.withLock { state in
            let room = max(0, Limits.tracedSpansWaitingMax - state.waiting.count)
            state.waiting += spans.prefix(room)
            state.dropped += max(0, spans.count - room)
        }
    }

    /// Sends until the server stops, and then sends what is left.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await self.time.sleep(for: .seconds(1))) != nil { await self.flush() }
        }
        await flush()
        try? await client.shutdown()
    }

    private func flush() async {
        let (spans, dropped) = state.withLock { state in
            defer { state = State() }
            return (state.waiting, state.dropped)
        }
        if dropped > 0 { logger.warning("spans were dropped", metadata: ["count": .stringConvertible(dropped)]) }
        for start in stride(from: 0, to: spans.count, by: Limits.tracedSpansPerRequestMax) {
            await send(Array(spans[start..<min(start + Limits.tracedSpansPerRequestMax, spans.count)]))
        }
    }

    private func send(_ spans: [TraceSpan]) async {
        var request = HTTPClientRequest(url: "\(settings.url)/v1/traces")
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .bytes(Self.document(spans, version: settings.version).bytes)
        do {
            let answer = try await client.execute(request, timeout: .seconds(5))
            guard !(200..<300).contains(answer.status.code) else { return }
            logger.warning("the collector refused spans", metadata: ["status": .stringConvertible(answer.status.code)])
        } catch {
            logger.warning("spans could not be sent", metadata: ["error": "\(error)", "spans": "\(spans.count)"])
        }
    }

    /// `ExportTraceServiceRequest` in OTLP's JSON encoding: ids in hexadecimal digits, numbers of 64 bits as text.
    static func document(_ spans: [TraceSpan], version: String) -> JSON {
        let resource: JSON = [
            "attributes": [attribute("service.name", "peal"), attribute("service.version", .string(version))]
        ]
        let scope: JSON = ["name": "peal", "version": .string(version)]
        let scoped: JSON = ["scope": scope, "spans": .array(spans.map(json))]
        return ["resourceSpans": [["resource": resource, "scopeSpans": [scoped]]]]
    }

    private static func json(_ span: TraceSpan) -> JSON {
        let start = span.start.milliseconds * 1_000_000
        let (seconds, attoseconds) = span.duration.components
        let end = start + seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        var members = JSON.Members()
        members["traceId"] = .string(hex(span.message.high) + hex(span.message.low))
        members["spanId"] = .string(hex(span.id))
        members["parentSpanId"] = span.parent.map { .string(hex($0)) }
        members["name"] = .string("peal.\(span.name.rawValue)")
        members["kind"] = .integer(kind(of: span.name))
        members["startTimeUnixNano"] = .string(String(start))
        members["endTimeUnixNano"] = .string(String(end))
        members["attributes"] = .array(
            span.attributes.sorted { $0.key < $1.key }.map { attribute($0.key, $0.value) })
        if let link = span.link {
            members["links"] = [["traceId": .string(link.traceID), "spanId": .string(link.spanID)]]
        }
        if span.isFailed { members["status"] = ["code": 2] }
        return .object(members)
    }

    /// SPAN_KIND.
    private static func kind(of name: TraceSpan.Name) -> Int64 {
        switch name {
        case .request: 2
        case .provider: 3
        case .accept, .page, .settle: 1
        }
    }

    private static func attribute(_ key: String, _ value: JSON) -> JSON {
        let text = JSON.string(value.integerValue.map { String($0) } ?? value.stringValue ?? value.text)
        let typed: JSON = value.integerValue == nil ? ["stringValue": text] : ["intValue": text]
        return ["key": .string(key), "value": typed]
    }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
