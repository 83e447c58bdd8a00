import NIOCore
import NIOHTTP1
import PealCore
import Synchronization

/// Part of an HTTP/1.1 connection. Receives the requests that are written to it, some time after they were made,
/// because they wait for TCP and TLS. Fails those whose deadline has passed and shortens the remaining lifetime of the
/// others: otherwise a push service would deliver a message that has expired.
final class WriteGuard: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// The deadline passed before anything of the request was written.
    struct Passed: Error {}

    private let requests: WaitingRequests
    private var isLate = false

    private init(_ requests: WaitingRequests) { self.requests = requests }

    /// Adds a guard to a new connection of the client. Runs on the connection's event loop.
    static func add(to channel: any Channel, for requests: WaitingRequests) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
            try pipeline.addHandler(WriteGuard(requests), position: .after(encoder))
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var part = unwrapOutboundIn(data)
        if case .head(var head) = part {
            isLate = !requests.write(&head.headers)
            part = .head(head)
            // The client fails the request and closes the connection.
            if isLate { context.fireErrorCaught(Passed()) }
        }
        guard !isLate else {
            promise?.fail(Passed())
            return
        }
        context.write(wrapOutboundOut(part), promise: promise)
    }
}

/// The requests that a client was asked for and that have not ended. The guard of a connection finds them by a number
/// in their headers, because the client has no other way to pass anything to it.
final class WaitingRequests: Sendable {
    private struct Entry {
        let madeAt: Duration
        let deadline: Duration?
        let lifeField: String?
        var isWritten = false
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var lastNumber = 0
        var hasUnnumbered = false
    }

    /// Removed before the request is written.
    private static let field = "x-peal-request"

    private let time: any TimeSource
    private let state = Mutex(State())

    init(time: any TimeSource) { self.time = time }

    /// Adds a request, and its number to `headers`.
    /// - Parameter madeAt: when its remaining lifetime was computed, by `TimeSource.uptime`.
    func begin(_ request: OutboundRequest, madeAt: Duration, _ headers: inout HTTPHeaders) -> Int {
        let entry = Entry(madeAt: madeAt, deadline: request.deadline, lifeField: request.lifeField)
        let number = state.withLock { state in
            state.lastNumber += 1
            state.entries[state.lastNumber] = entry
            return state.lastNumber
        }
        headers.replaceOrAdd(name: Self.field, value: "\(number)")
        return number
    }

    /// Removes a request. Returns whether anything of it was written.
    func end(_ number: Int) -> Bool { state.withLock { $0.entries.removeValue(forKey: number)?.isWritten ?? false } }

    /// Whether anything may have been written of a request without a number.
    var hasUnnumbered: Bool { state.withLock(\.hasUnnumbered) }

    func noteUnnumbered() { state.withLock { $0.hasUnnumbered = true } }

    /// Prepares the headers of a request that is written now. Returns false if it must not be, because its deadline has
    /// passed or nobody waits for it.
    fileprivate func write(_ headers: inout HTTPHeaders) -> Bool {
        guard let number = headers.first(name: Self.field).flatMap({ Int($0) }) else {
            noteUnnumbered()
            return true
        }
        headers.remove(name: Self.field)
        let uptime = time.uptime
        let entry = state.withLock { state -> Entry? in
            guard let entry = state.entries[number], entry.deadline.map({ uptime <= $0 }) ?? true else { return nil }
            state.entries[number]?.isWritten = true
            return entry
        }
        guard let entry else { return false }
        if let field = entry.lifeField { Self.shorten(field, by: uptime - entry.madeAt, in: &headers) }
        return true
    }

    /// A lifetime of 0 has a meaning of its own, so a longer one does not become 0.
    private static func shorten(_ field: String, by waited: Duration, in headers: inout HTTPHeaders) {
        let seconds = waited.components.seconds
        guard seconds > 0, let life = headers.first(name: field).flatMap({ Int64($0) }), life > 0 else { return }
        headers.replaceOrAdd(name: field, value: "\(max(1, life - seconds))")
    }
}
