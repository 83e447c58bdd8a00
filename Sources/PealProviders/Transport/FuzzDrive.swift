import NIOCore
import NIOHPACK
import PealCore

/// A client connection without a socket, for the laboratory's fuzzing: takes what a server would send, piece by piece,
/// and reports how the requests ended that it opened. Requests are numbered from 0 in the order in which they begin.
package struct FuzzDrive {
    /// What the connection holds, for checking that nothing grows or overflows.
    package struct Figures: Hashable, Sendable {
        package var sendWindow: Int
        /// The largest of the open streams'.
        package var streamWindowMax: Int
        package var receiveWindow: Int
        package var openCount: Int
        package var pendingBodies: Int
        /// Octets kept of header blocks and bodies that are not complete.
        package var keptBytes: Int
        package var tableSize: Int
    }

    private var state: HTTP2ConnectionState
    private var input = ByteBuffer()
    private var out = ByteBuffer()
    private var gathered = StreamEndings()
    private let notification: Notification
    private var template: RequestTemplate?
    /// How many requests were begun.
    package private(set) var begunCount = 0
    /// Request and kind of each ending: `accepted`, `unprocessed`, `lost …`, or status and body of an error's answer.
    package private(set) var endings: [(request: Int, kind: String)] = []
    /// The peer's offence, which ended the connection; nil while it lives.
    package private(set) var fault: String?

    /// A connection that has written its preface.
    /// - Parameter bodyBytes: octets of each request's body.
    package init(bodyBytes: Int) {
        notification = Notification(
            route: .apnsProduction, path: .init(Array("/3/device/".utf8), gap: .addressHex),
            headers: [.init("apns-topic", "com.example.fuzz"), .init("apns-push-type", "alert")],
            body: .init(Array(repeating: UInt8(ascii: "x"), count: bodyBytes)))
        state = HTTP2ConnectionState(authority: "localhost", idName: "apns-id")
        // Small, so that inputs by the million are cheap; ids pass over each other sooner.
        state.streams = StreamTable(capacity: 128)
        state.start(into: &out)
    }

    /// Takes the next octets, as the channel handler does. Nothing more is taken after a fault.
    package mutating func receive(_ bytes: ArraySlice<UInt8>) {
        guard fault == nil else { return }
        input.discardReadBytes()
        input.writeBytes(bytes)
        do throws(HTTP2Fault) {
            try state.receive(&input, into: &out, endings: &gathered)
        } catch {
            fault = "\(error.code): \(error.reason)"
            state.farewell(error.code, into: &out)
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

    /// Gives up the older half of what was begun, as after a timeout, and pings the peer.
    package mutating func tick() {
        guard fault == nil else { return }
        state.giveUp(before: state.nextStreamID / 2, into: &out, endings: &gathered)
        state.ping(into: &out)
        settle()
    }

    /// The connection is gone: everything open ends.
    package mutating func close() {
        state.giveUpAll(endings: &gathered)
        settle()
    }

    /// What was written since the last call.
    package mutating func takeOutput() -> [UInt8] {
        defer { out.clear() }
        return Array(out.readableBytesView)
    }

    package var figures: Figures {
        let windows = state.streams.places { _ in true }.map { state.streams[$0].window }
        return Figures(
            sendWindow: state.sendWindow, streamWindowMax: windows.max() ?? 0, receiveWindow: state.receiveWindow,
            openCount: state.openCount, pendingBodies: state.pendingBodies.count,
            keptBytes: state.drafts.values.reduce(state.headerBlock?.bytes.readableBytes ?? 0) { $0 + $1.body.count },
            tableSize: state.decoder.allowedDynamicTableLength)
    }

    /// Whether a header block is taken for a plain success without decoding it.
    package static func isPlainSuccess(_ block: [UInt8]) -> Bool {
        HeaderSkim.isPlainSuccess(ByteBuffer(bytes: block))
    }

    private mutating func settle() {
        for ticket in gathered.accepted { endings.append((Int(ticket.index), "accepted")) }
        for ending in gathered.others {
            let kind =
                switch ending.kind {
                case .response(let response):
                    "\(response.status) \(response.retryAfterSeconds ?? -1) \(response.body)"
                case .unprocessed: "unprocessed"
                case .lost(let reason): "lost \(reason)"
                }
            endings.append((Int(ending.ticket.index), kind))
        }
        gathered.removeAll()
    }
}
