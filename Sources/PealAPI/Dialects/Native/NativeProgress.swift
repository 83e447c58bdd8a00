internal import HTTPTypes
internal import PealCore
internal import PealShapes
internal import Synchronization

/// `GET …/messages/{id}/events`: a message's progress as server-sent events, until it has ended.
struct NativeProgress: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [Endpoint(.get, "\(app)/messages/:id/events", .app(.read), stream)]
    }

    private func stream(_ call: Call) async throws -> Answer {
        let (app, id): (AppKey, MessageID) = (try call.app().key, try call.id("id", of: "message"))
        let identity = call.caller.identity
        return try await services.progressAnswer(app: app, id: id) { [store = services.store, time = services.time] in
            switch identity {
            case .key(let stored):
                try await store.read { try $0.keys(app: app) }.contains { key in
                    key.id == stored.key.id && key.expiresAt.map { $0 > time.now } ?? true
                }
            case .admin(let admin?): try await store.read { try $0.admins() }.contains { $0.id == admin.id }
            case .admin(nil), .anonymous, .device: true
            }
        }
    }
}

extension APIServices {
    /// The stream of a message's progress. The caller has been admitted.
    /// - Parameter isAllowed: whether the caller's key still exists, asked every few seconds.
    /// - Throws: `not_found`; `rate_limited` when too many streams are open; `unavailable` when the server is stopping.
    func progressAnswer(
        app: AppKey, id: MessageID, isAllowed: @escaping @Sendable () async throws -> Bool
    ) async throws -> Answer {
        guard try await store.read({ try $0.message(app: app, id: id) }) != nil else {
            throw PealError.notFound("message")
        }
        let slot = try progressStreams.take(app: app)
        return Answer(
            streaming: { [store, time, progressStreams] write in
                let stream = ProgressStream(
                    store: store, time: time, streams: progressStreams, app: app, id: id, isAllowed: isAllowed)
                try await stream.run(write)
                withExtendedLifetime(slot) {}
            }, type: "text/event-stream; charset=utf-8")
    }
}

/// Limits the progress streams: each reads the store twice a second.
final class ProgressStreams: Sendable {
    private struct State {
        var all = 0
        var byApp: [AppKey: Int] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())

    /// A slot of an open stream, which is free again when nothing refers to it.
    final class Slot: Sendable {
        private let streams: ProgressStreams
        private let app: AppKey

        fileprivate init(_ streams: ProgressStreams, _ app: AppKey) { (self.streams, self.app) = (streams, app) }

        deinit { streams.leave(app) }
    }

    var isClosed: Bool { state.withLock(\.isClosed) }

    /// - Throws: `rate_limited` when too many are open; `unavailable` when the server is stopping.
    func take(app: AppKey) throws(PealError) -> Slot {
        guard !isClosed else { throw PealError(.unavailable, "the server is stopping", retryAfterSeconds: 5) }
        let hasRoom = state.withLock { state in
            guard state.all < Limits.progressStreamsMax,
                state.byApp[app, default: 0] < Limits.progressStreamsPerAppMax
            else { return false }
            state.all += 1
            state.byApp[app, default: 0] += 1
            return true
        }
        guard hasRoom else { throw PealError(.rateLimited, "too many streams are open", retryAfterSeconds: 5) }
        return Slot(self, app)
    }

    private func leave(_ app: AppKey) {
        state.withLock { state in
            state.all -= 1
            let left = (state.byApp[app] ?? 1) - 1
            state.byApp[app] = left > 0 ? left : nil
        }
    }

    /// Ends all streams and refuses new ones, because the server is stopping.
    func close() { state.withLock { $0.isClosed = true } }

    /// Waits until the time is over or the streams close.
    /// - Throws: `CancellationError`.
    func pause(for duration: Duration, _ time: any TimeSource) async throws {
        let end = time.uptime + duration
        while !isClosed, time.uptime < end {
            try await time.sleep(for: min(.milliseconds(Limits.progressClosingMilliseconds), end - time.uptime))
        }
    }
}

/// One stream: `progress` when something changed, at most twice a second; `end` with the whole message.
private struct ProgressStream {
    let store: any Store
    let time: any TimeSource
    let streams: ProgressStreams
    let app: AppKey
    let id: MessageID
    let isAllowed: @Sendable () async throws -> Bool

    /// Returns when the message has ended, the caller's key is gone or the server stops; throws when the client has
    /// disconnected.
    func run(_ write: (String) async throws -> Void) async throws {
        let begun = time.uptime
        var (last, lastAt, wroteAt): (MessageReport?, Duration, Duration) = (nil, begun, begun)
        var checkedAt = begun
        while !streams.isClosed, !Task.isCancelled, time.uptime - begun < .seconds(Limits.progressStreamSeconds) {
            let readAt = time.uptime
            if readAt - checkedAt >= .seconds(Limits.progressPingSeconds) {
                guard try await isAllowed() else { return }
                checkedAt = readAt
            }
            guard let report = try await report() else { return }
            if report != last {
                let rate = last.map { Self.rate(from: $0, to: report, in: readAt - lastAt) } ?? 0
                try await write(Self.event("progress", Self.json(report, rate: rate, at: time.now)))
                (last, lastAt, wroteAt) = (report, readAt, readAt)
            } else if readAt - wroteAt >= .seconds(Limits.progressPingSeconds) {
                // This detects a client that has disconnected.
                try await write(": \n\n")
                wroteAt = readAt
            }
            if report.message.state.isFinal, report.total.pending == 0 {
                let whole = try await store.read { [app, id] in try MessageVerbs.report(id, app: app, in: $0) }
                return try await write(Self.event("end", whole.nativeJSON))
            }
            // A message whose counts are slow to read is read less often.
            let pause = max(.milliseconds(Limits.progressMilliseconds), (time.uptime - readAt) * 10)
            try await streams.pause(for: pause, time)
        }
    }

    /// - Returns: nil when the message has been deleted.
    private func report() async throws -> MessageReport? {
        while true {
            do {
                return try await store.read(.heavy) { [app, id] in try $0.report(app: app, id: id) }
            } catch let error as PealError where error.code == .rateLimited || error.code == .unavailable {
                // The store is too busy to count.
                try await streams.pause(for: .milliseconds(Limits.progressMilliseconds), time)
                if streams.isClosed { return nil }
            }
        }
    }

    /// Devices that got an outcome, per second.
    private static func rate(from earlier: MessageReport, to report: MessageReport, in time: Duration) -> Double {
        let count = max(0, report.total.settled - earlier.total.settled)
        return time > .zero ? Double(count) / (time / .seconds(1)) : 0
    }

    private static func json(_ report: MessageReport, rate: Double, at now: Timestamp) -> JSON {
        let total = report.total
        return [
            "id": .string(report.message.id.description), "state": .string(report.message.state.name),
            "at": .string(now.description), "devices": .integer(total.devices), "counts": total.nativeJSON,
            "resent": .integer(total.resent), "rate": .number(String((rate * 10).rounded() / 10)),
        ]
    }

    private static func event(_ name: String, _ data: JSON) -> String { "event: \(name)\ndata: \(data.text)\n\n" }
}

extension NativeDocument {
    static let progress: [APIOperation] = [
        APIOperation(
            id: "watchMessage", method: .get, path: "\(app)/messages/:id/events",
            summary: "Follow a message's progress",
            text: "Server-sent events: `progress` with counts and rate at most twice a second, then `end` with the "
                + "message. A stream without `end` was cut off after an hour or by a stop of the server: open it again.",
            answers: [APIAnswer(200, "The events.", .text, mediaType: "text/event-stream")])
    ]
}
