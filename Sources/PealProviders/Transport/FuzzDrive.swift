import NIOCore
import NIOHPACK
import PealCore

/// A client connection without a socket, for the laboratory's fuzzing. Receives a server's bytes piece by piece and
/// reports how the opened requests ended. Requests are numbered from 0 in the order in which they begin.
package struct FuzzDrive {
    /// What the connection holds, for checks that nothing grows or overflows.
    package struct Figures: Hashable, Sendable {
        package var sendWindow: Int
        /// The largest window of an open stream, in bytes.
        package var streamWindowMax: Int
        package var receiveWindow: Int
        package var openCount: Int
        package var pendingBodies: Int
        /// Bytes kept of incomplete header blocks and bodies.
        package var keptBytes: Int
        package var tableSize: Int
    }

    private var state: HTTP2ConnectionState
    private var input = ByteBuffer()
    private var out = ByteBuffer()
    private var gathered = StreamEndings()
    private let notification: Notification
    private var template: RequestTemplate?
    /// How many requests have begun.
    package private(set) var begunCount = 0
    /// Request number and kind of each ending: `accepted`, `unprocessed`, `lost …`, or the status, retry time and body
    /// of another response.
    package private(set) var endings: [(request: Int, kind: String)] = []
    /// The protocol violation that ended the connection; nil while the connection lives.
    package private(set) var fault: String?

    /// Creates a connection that has written its preface.
    /// - Parameter bodyBytes: size of each request's body in bytes.
    package init(bodyBytes: Int) {
        notification = Notification(
            route: .apnsProduction, path: .init(Array("/3/device/".utf8), gap: .addressHex),
            headers: [.init("apns-topic", "com.example.fuzz"), .init("apns-push-type", "alert")],
            body: .init(Array(repeating: UInt8(ascii: "x"), count: bodyBytes)))
        state = HTTP2ConnectionState(authority: "localhost", idName: "apns-id")
        // Small, so that millions of inputs stay cheap and stream ids collide in the table sooner.
        state.streams = StreamTable(capacity: 128)
        state.start(into: &out)
    }

    /// Parses the next bytes, as the channel handler does. Ignores them after a fault.
    package mutating func receive(_ bytes: ArraySlice<UInt8>) {
        guard fault == nil else { return }
        input.discardReadBytes()
        input.writeBytes(bytes)
        do throws(HTTP2Fault) {
            try state.receive(&input, into: &out, endings: &gathered)
        } catch {
            fault = "\(error.code): \(error.reason)"
            state.writeGoAway(error.code, into: &out)
            state.giveUpAll(endings: &gathered)
        }
        settle()
    }

    /// Begins as many of `count` requests as the peer's limits allow, up to 60 open ones.
    package mutating func begin(_ count: Int) {
        for _ in 0..<min(count, state.streamRoom, 60 - state.openCount) where fault == nil && state.partialBodyRoom > 0
        {
            let template = currentTemplate()
            let ticket = StreamTicket(order: 0, index: Int32(begunCount))
            withUnsafeBytes(of: UInt32(begunCount)) {
                state.begin(template, address: $0, id: (1, 2), ticket: ticket, into: &out)
            }
            begunCount += 1
        }
    }

    private mutating func currentTemplate() -> RequestTemplate {
        let authorization = Authorization(value: Array("bearer x".utf8), version: 1)
        if let template, state.encoder.isCurrent(template, authorization) { return template }
        let made = state.encoder.template(notification, authorization)
        template = made
        return made
    }

    /// Abandons the older half of the open requests, as a timeout does, and pings the peer.
    package mutating func tick() {
        guard fault == nil else { return }
        state.giveUp(before: state.nextStreamID / 2, into: &out, endings: &gathered)
        state.ping(into: &out)
        settle()
    }

    /// Ends every open request, as if the connection were gone.
    package mutating func close() {
        state.giveUpAll(endings: &gathered)
        settle()
    }

    /// The bytes written since the last call.
    package mutating func takeOutput() -> [UInt8] {
        defer { out.clear() }
        return Array(out.readableBytesView)
    }

    package var figures: Figures {
        let windows = state.streams.slotIndices { _ in true }.map { state.streams[$0].window }
        return Figures(
            sendWindow: state.sendWindow, streamWindowMax: windows.max() ?? 0, receiveWindow: state.receiveWindow,
            openCount: state.openCount, pendingBodies: state.pendingBodies.count,
            keptBytes: state.drafts.values.reduce(state.headerBlock?.bytes.readableBytes ?? 0) { $0 + $1.body.count },
            tableSize: state.decoder.allowedDynamicTableLength)
    }

    /// Whether a header block is recognized as a plain success without decoding.
    package static func isPlainSuccess(_ block: [UInt8]) -> Bool {
        HeaderSkim.isPlainSuccess(ByteBuffer(bytes: block))
    }

    /// -1 for a date or nil.
    private static func seconds(_ wait: RetryAfter?) -> Int {
        if case .seconds(let seconds) = wait { seconds } else { -1 }
    }

    private mutating func settle() {
        for ticket in gathered.accepted { endings.append((Int(ticket.index), "accepted")) }
        for ending in gathered.others {
            let kind =
                switch ending.kind {
                case .response(let response):
                    "\(response.status) \(Self.seconds(response.retryAfter)) \(response.body)"
                case .unprocessed: "unprocessed"
                case .lost(let reason): "lost \(reason)"
                }
            endings.append((Int(ending.ticket.index), kind))
        }
        gathered.removeAll()
    }
}
