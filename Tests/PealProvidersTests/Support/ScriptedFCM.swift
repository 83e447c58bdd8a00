import NIOCore
import NIOHPACK
import Synchronization

@testable import PealProviders

/// A scripted server that reads complete requests and answers each with the result of a function.
final class ScriptedFCM: Sendable {
    /// One request as received.
    struct Request: Sendable {
        var headers: [String: String]
        var body: String
    }

    struct Reply: Sendable {
        var status = 200
        var fields: [(String, String)] = []
        var body = ""
    }

    private final class Inbox: Sendable {
        struct State {
            var decoders: [Int: HPACKDecoder] = [:]
            var open: [UInt64: [String: String]] = [:]
            var requests: [Request] = []
        }
        let state = Mutex(State())
    }

    let server: ScriptedServer
    private let inbox: Inbox

    var requests: [Request] { inbox.state.withLock { $0.requests } }

    init(_ answer: @escaping @Sendable (Request) -> Reply = { _ in Reply() }) throws {
        let inbox = Inbox()
        self.inbox = inbox
        server = try ScriptedServer { connection, frame in
            guard let frame else {
                return connection.write(ServerFrame.settings([(3, 100)]) + ServerFrame.windowUpdate(0, 1_000_000_000))
            }
            guard let request = Self.take(frame, connection.number, inbox) else { return }
            let reply = answer(request)
            let stream = frame.header.streamID
            let head = ServerFrame.headers(
                stream, ServerFrame.status(reply.status, reply.fields), ends: reply.body.isEmpty)
            connection.write(head + (reply.body.isEmpty ? [] : ServerFrame.data(stream, reply.body)))
        }
    }

    /// The request that a frame completes.
    private static func take(_ frame: WireFrame, _ connection: Int, _ inbox: Inbox) -> Request? {
        let key = UInt64(connection) << 32 | UInt64(frame.header.streamID)
        return inbox.state.withLock { state in
            switch frame.header.kind {
            case HTTP2Frame.Kind.headers:
                var decoder = state.decoders[connection] ?? HPACKDecoder(allocator: ByteBufferAllocator())
                var block = ByteBuffer(bytes: frame.payload)
                let fields = (try? decoder.decodeHeaders(from: &block)) ?? [:]
                state.decoders[connection] = decoder
                state.open[key] = Dictionary(fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
                return nil
            case HTTP2Frame.Kind.data:
                guard let headers = state.open.removeValue(forKey: key) else { return nil }
                let request = Request(headers: headers, body: String(decoding: frame.payload, as: UTF8.self))
                state.requests.append(request)
                return request
            default: return nil
            }
        }
    }
}
