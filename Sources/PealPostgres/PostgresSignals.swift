internal import CPostgreSQL
internal import Dispatch
internal import Foundation
internal import PealCore
internal import PealStore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Short messages between the processes that share a database, over LISTEN and NOTIFY on a separate connection and
/// thread. They are hints: a process does not receive messages that are sent while it has no connection.
package final class PostgresSignals: Sendable {
    package enum Event: Sendable, Hashable {
        /// Another process sent this.
        case signal(String)
        /// The connection is new: earlier signals may have been missed.
        case connected
    }

    private struct State {
        var waiting: [String] = []
        var isClosed = false
        var hasThread = false
    }

    /// A NOTIFY makes all commits of the database wait for each other for a moment, so many signals share one.
    private static let interval: Duration = .milliseconds(50)
    private static let pauseAfterRefusal: Duration = .seconds(1)
    /// PostgreSQL's limit is 8,000 bytes.
    private static let payloadBytesMax = 7900
    /// How many signals wait while there is no connection; further ones are dropped.
    private static let waitingMax = 10_000
    private static let channel = "peal"
    /// Connecting may take 5 s, and a statement as long.
    private static let closingSecondsMax = 10.0

    private let settings: PostgresSettings
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)
    /// Wakes the thread: it reads the first, others write the second.
    private let wake: (read: Int32, write: Int32)

    package init(_ settings: PostgresSettings) {
        self.settings = settings
        var ends: [Int32] = [-1, -1]
        _ = pipe(&ends)
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        wake = (ends[0], ends[1])
    }

    deinit {
        Glibc.close(wake.read)
        Glibc.close(wake.write)
    }

    /// Sends `text`, which has no line breaks, to all other processes after a short delay.
    package func send(_ text: String) {
        state.withLock { state in
            if state.waiting.count < Self.waitingMax { state.waiting.append(text) }
        }
        wakeThread()
    }

    /// Receives until `close`. `receive` runs on the thread of the connection, so it must not block.
    package func start(_ receive: @escaping @Sendable (Event) -> Void) {
        state.withLock { $0.hasThread = true }
        let thread = Thread { [self] in
            while !isClosed { listen(receive) }
            ended.signal()
        }
        thread.name = "peal.store.signals"
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// Stops receiving. Waits for the thread, but not longer than a server that does not answer may keep it.
    package func close() async {
        let waits = state.withLock { state in
            state.isClosed = true
            defer { state.hasThread = false }
            return state.hasThread
        }
        wakeThread()
        guard waits else { return }
        // On its own thread, because Swift's threads must not block.
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [ended] in
                _ = ended.wait(timeout: .now() + Self.closingSecondsMax)
                continuation.resume()
            }
        }
    }

    private var isClosed: Bool { state.withLock { $0.isClosed } }

    private func wakeThread() { _ = write(wake.write, [1], 1) }

    /// One connection, from beginning to end.
    private func listen(_ receive: (Event) -> Void) {
        guard let handle = try? settings.connect() else { return rest(milliseconds: 500) }
        defer { PQfinish(handle) }
        guard PostgresSettings.run("LISTEN \(Self.channel)", on: handle) else { return rest(milliseconds: 500) }
        receive(.connected)
        var earliest = ContinuousClock.now
        while !isClosed {
            let hasWaiting = state.withLock { !$0.waiting.isEmpty }
            let now = ContinuousClock.now
            if hasWaiting, now >= earliest {
                let isSent = sendNext(handle)
                // Another connection would be refused too, for example while the queue of notifications is full.
                guard isSent || PQtransactionStatus(handle) == PQTRANS_IDLE else { return }
                earliest = now + (isSent ? Self.interval : Self.pauseAfterRefusal)
                continue
            }
            let pause = hasWaiting ? (earliest - now) / .milliseconds(1) + 1 : 1000
            rest(milliseconds: Int32(pause), or: PQsocket(handle))
            guard PQconsumeInput(handle) == 1 else { return }
            while let notification = PQnotifies(handle) {
                defer { PQfreemem(notification) }
                guard notification.pointee.be_pid != PQbackendPID(handle) else { continue }
                let payload = String(cString: notification.pointee.extra)
                for line in payload.split(separator: "\n") { receive(.signal(String(line))) }
            }
        }
    }

    /// Waits until there is something to read, or to do.
    private func rest(milliseconds: Int32, or socket: Int32? = nil) {
        var descriptors = [pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0)]
        if let socket { descriptors.append(pollfd(fd: socket, events: Int16(POLLIN), revents: 0)) }
        _ = poll(&descriptors, nfds_t(descriptors.count), milliseconds)
        var bytes = [UInt8](repeating: 0, count: 256)
        while read(wake.read, &bytes, bytes.count) > 0 {}
    }

    /// Sends what fits into one notification. Signals that could not be sent are queued again.
    private func sendNext(_ handle: OpaquePointer) -> Bool {
        let taken = state.withLock { state in
            var size = 0
            let fitting = state.waiting.prefix { text in
                size += text.utf8.count + 1
                return size <= Self.payloadBytesMax
            }
            state.waiting.removeFirst(fitting.count)
            return Array(fitting)
        }
        let payload = taken.joined(separator: "\n").replacing("'", with: "''")
        if PostgresSettings.run("NOTIFY \(Self.channel), '\(payload)'", on: handle) { return true }
        state.withLock { $0.waiting.insert(contentsOf: taken, at: 0) }
        return false
    }
}
