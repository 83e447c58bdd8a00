internal import Crypto
package import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import PealCore
internal import Synchronization

/// Every request passes through here. The gate matches the path, admits the caller, reads the body within its limit and
/// calls the handler; it writes every error in the dialect's own envelope.
struct Gate: RouterMiddleware {
    typealias Context = APIContext

    private let routes: RouteTable
    private let services: APIServices
    private let gatekeeper: Gatekeeper
    private let repetitions: Repetitions

    init(routes: RouteTable, services: APIServices) {
        self.routes = routes
        self.services = services
        gatekeeper = Gatekeeper(services)
        repetitions = Repetitions(store: services.store)
    }

    func handle(
        _ request: Request, context: APIContext, next: (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        let start = services.time.uptime
        services.http.begin()
        let visit = Visit(
            requestID: Hex.encode(services.randomness.bytes(8)),
            address: ClientAddress(context.peer, request.headers, proxies: services.options.trustedProxies),
            at: services.time.now)
        let target = Substring(request.head.path ?? "/")
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        let raw = target[..<mark]
        let path = RequestPath(raw)
        let dialect = Dialects.owner(of: path, raw: raw)
        var answer: Answer
        do {
            let query = mark < target.endIndex ? target[target.utf8.index(after: mark)...] : ""
            if Self.isBrief(request, path) {
                answer = try await answered(request, visit, dialect, path: path, query: query)
            } else {
                answer = try await withTaskExecutorPreference(globalConcurrentExecutor) {
                    try await answered(request, visit, dialect, path: path, query: query)
                }
            }
        } catch let broken as BrokenBody {
            // The connection itself failed; Hummingbird ends it.
            services.http.end(nil, after: .zero)
            throw broken.cause
        } catch {
            let refusal = refusal(for: error, requestID: visit.requestID)
            services.refusals.note(refusal, visit, method: request.method.rawValue, at: services.time.now)
            answer = dialect.envelope.answer(
                refusal, path: path?.text ?? String(raw), now: services.time.now, requestID: visit.requestID)
            if let seconds = refusal.retrySeconds { answer.headers[.retryAfter] = String(seconds) }
            if refusal.field == BodyDecoder.fieldName { answer.headers[.acceptEncoding] = "gzip" }
            if case .otherMethod(let allowed) = error as? Unmatched { answer.headers[.allow] = allowed }
        }
        answer.headers[.requestID] = visit.requestID
        if dialect.servesAllOrigins { answer.allowAllOrigins() }
        finish(request, visit, status: answer.status.code, after: services.time.uptime - start)
        return answer.response(isHead: request.method == .head)
    }

    /// Counts and logs an answered request. The log has the pattern of the path, because the path may contain ids of
    /// people.
    private func finish(_ request: Request, _ visit: Visit, status: Int, after duration: Duration) {
        let route = visit.route ?? "none"
        services.http.end(.init(method: request.method.label, route: route, status: status), after: duration)
        let milliseconds = Double(duration.components.attoseconds / 1_000_000_000_000) / 1000
        services.logger.info(
            "answered a request",
            metadata: [
                "request_id": "\(visit.requestID)", "method": "\(request.method.label)", "route": "\(route)",
                "status": .stringConvertible(status),
                "duration_ms": .stringConvertible(Double(duration.components.seconds) * 1000 + milliseconds),
                "actor": "\(visit.actorText)", "address": "\(visit.address.text)",
            ])
        trace(request, visit, status: status, after: duration)
    }

    /// Begins the trace of the message that the request created.
    private func trace(_ request: Request, _ visit: Visit, status: Int, after duration: Duration) {
        guard let traces = services.traces, let message = visit.noted.id, traces.records(message) else { return }
        let (now, uptime) = (services.time.now, services.time.uptime)
        let handled = uptime - (visit.handledAt ?? uptime)
        let root = TraceSpan.root(of: message)
        traces.record([
            TraceSpan(
                .request, of: message, id: root, parent: nil, start: now - duration, duration: duration,
                attributes: [
                    "http.request.method": .string(request.method.label), "http.route": .string(visit.route ?? "none"),
                    "http.response.status_code": .integer(Int64(status)), "peal.request_id": .string(visit.requestID),
                    "peal.message": .string(message.description),
                ], isFailed: status >= 500,
                link: request.headers[.traceparent].flatMap { TraceSpan.Link(traceparent: $0) }),
            TraceSpan(
                .accept, of: message, id: root ^ 1, parent: root, start: now - handled, duration: handled),
        ])
    }

    /// Why no endpoint matches a request.
    private enum Unmatched: Error {
        case path
        case otherMethod(allowed: String)
    }

    /// The connection failed before the body was complete.
    private struct BrokenBody: Error {
        let cause: any Error
    }

    private func answered(
        _ request: Request, _ visit: Visit, _ dialect: any Dialect, path: RequestPath?, query: Substring
    ) async throws -> Answer {
        guard let path else { throw Unmatched.path }
        if request.method == .options, dialect.servesAllOrigins { return .preflight }
        let match = routes.match(request.method, path)
        guard case .endpoint(let endpoint, let parameters) = match else {
            return try Self.options(request.method, match)
        }
        visit.matched(endpoint, parameters)
        let caller = try await gatekeeper.admit(request.headers, endpoint.access, parameters: parameters, visit)
        let query = try Query(query)
        let share = services.bodies.share(of: visit.address, app: caller.app?.key)
        let hold = BodyHold(share)
        defer { withExtendedLifetime(hold) {} }
        let body = try await body(
            of: request, share, limit: dialect.bodyBytesMax, tolerance: dialect.mediaTypes,
            isUnknown: endpoint.access.isInBody
        ) { beginning, mayFollow in
            try await gatekeeper.admitUnread(
                beginning, query: query, endpoint.access, visit, secretMayFollow: mayFollow)
        }
        let turn = body.count > Limits.parsedAtOnceBytesMax ? try await services.parsing.begin() : nil
        defer { turn?.end() }
        let isRepeatable = request.method == .post && dialect.takesIdempotencyKey
        let idempotent = isRepeatable ? try idempotentRequest(request, path: path, caller: caller, body: body) : nil
        let call = Call(
            method: request.method, path: path, parameters: parameters, query: query, headers: request.headers,
            caller: caller, visit: visit, body: body, idempotent: idempotent,
            jsonValuesMax: services.options.jsonValuesMax, parsing: turn)
        visit.handled(at: services.time.uptime)
        var answer: Answer
        if let idempotent {
            answer = try await repetitions.once(idempotent, now: visit.at) { try await endpoint.handler(call) }
        } else {
            answer = try await endpoint.handler(call)
        }
        try answer.count(in: hold, changesNothing: Self.changesNothing(request.method, path))
        return answer
    }

    private static func changesNothing(_ method: HTTPRequest.Method, _ path: RequestPath) -> Bool {
        method == .get || method == .head || path.segments.last?.hasSuffix(":validate") == true
    }

    /// Whether the request may be handled on the event loop of its connection, whose other connections wait meanwhile.
    /// Reads may compose long answers, as may changes of messages, which show the whole message, and a validation
    /// renders every locale for every platform. The size of a body is unknown if it is compressed or has no
    /// `Content-Length`.
    static func isBrief(_ request: Request, _ path: RequestPath?) -> Bool {
        guard request.method != .get, request.method != .head, request.headers[.contentEncoding] == nil,
            let length = request.headers[.contentLength].flatMap({ Int($0) }), length <= Limits.briefBodyBytesMax
        else { return false }
        guard let path, let last = path.segments.last, !last.hasSuffix(":validate") else { return path == nil }
        let isOfMessage = path.segments.contains("messages")
        return !isOfMessage || request.method != .patch && !["cancel", "pause", "resume"].contains(last)
    }

    /// The answer to `OPTIONS` for a path whose endpoints have other methods.
    private static func options(_ method: HTTPRequest.Method, _ match: RouteTable.Match) throws(Unmatched) -> Answer {
        guard case .otherMethods(let methods) = match else { throw .path }
        let allowed = methods + (methods.contains(.get) ? [.head] : []) + [.options]
        let text = allowed.map(\.rawValue).joined(separator: ", ")
        guard method == .options else { throw .otherMethod(allowed: text) }
        var answer = Answer(.noContent)
        answer.headers[.allow] = text
        return answer
    }

    /// Receives the body, which is limited as sent and as decoded: compressed data may decode to nothing. Only the
    /// beginning of an unknown caller's body is received before `admit` is called, and called again whenever the body
    /// has doubled: a body in small pieces is not searched once for each.
    /// - Parameters:
    ///   - isUnknown: the body itself names the caller.
    ///   - admit: takes the bytes so far and whether more may be received if they do not name the caller yet; returns
    ///     whether they do.
    /// - Throws: `body_too_large`, `unsupported_media_type`; what `admit` throws.
    private func body(
        of request: Request, _ share: BodyBudget.Share, limit: Int?, tolerance: MediaType.Tolerance, isUnknown: Bool,
        admit: ([UInt8], _ mayFollow: Bool) async throws -> Bool
    ) async throws -> [UInt8] {
        guard request.method != .get, request.method != .head else { return [] }
        let decoder = try BodyDecoder(request.headers[.contentEncoding])
        let limit = min(limit ?? .max, services.options.requestBodyBytesMax)
        let tooLarge = PealError(.bodyTooLarge, "the body is larger than \(limit) bytes")
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limit { throw tooLarge }
        var bytes: [UInt8] = []
        var receivedBytes = 0
        var isUnknown = isUnknown
        var unknownBytesMax = Limits.unknownCallerBodyBytesMax
        var buffers = request.body.makeAsyncIterator()
        while let buffer = try await Self.next(&buffers) {
            receivedBytes += buffer.readableBytes
            guard receivedBytes <= limit else { throw tooLarge }
            decoder.receive(buffer)
            while let piece = try decoder.next() {
                guard bytes.count + piece.readableBytes <= limit else { throw tooLarge }
                try share.take(piece.readableBytes, isUnknown: isUnknown)
                bytes.append(contentsOf: piece.readableBytesView)
                guard isUnknown, bytes.count > unknownBytesMax else { continue }
                isUnknown = try await !admit(bytes, bytes.count <= Limits.unnamedCallerBodyBytesMax)
                if isUnknown {
                    unknownBytesMax = min(2 * bytes.count, Limits.unnamedCallerBodyBytesMax)
                } else {
                    share.becomeKnown()
                }
            }
        }
        try decoder.end()
        if isUnknown, bytes.count > Limits.parsedAtOnceBytesMax {
            _ = try await admit(bytes, false)
            share.becomeKnown()
        }
        if !bytes.isEmpty { try MediaType.check(request.headers[.contentType], tolerance: tolerance) }
        return bytes
    }

    private static func next(_ buffers: inout RequestBody.AsyncIterator) async throws -> ByteBuffer? {
        do {
            return try await buffers.next()
        } catch {
            throw BrokenBody(cause: error)
        }
    }

    /// - Throws: `invalid_field` for an invalid key.
    private func idempotentRequest(
        _ request: Request, path: RequestPath, caller: Caller, body: [UInt8]
    ) throws(PealError) -> IdempotentRequest? {
        let keys = request.headers[values: .idempotencyKey]
        guard let key = keys.first else { return nil }
        guard keys.count == 1 else { throw .invalid("Idempotency-Key", "Idempotency-Key is given more than once") }
        guard (1...Limits.idempotencyKeyCharactersMax).contains(key.utf8.count),
            key.utf8.allSatisfy({ (0x20..<0x7F).contains($0) })
        else {
            throw .invalid(
                "Idempotency-Key",
                "Idempotency-Key must be 1 to \(Limits.idempotencyKeyCharactersMax) printable ASCII characters")
        }
        let scope = SHA256.hash(data: Array("\(caller.name)\n\(request.method.rawValue)\n\(path.text)".utf8))
        return IdempotentRequest(scope: Array(scope), key: key, digest: Array(SHA256.hash(data: body)))
    }

    /// - Returns: the refusal that the caller receives. Faults of the server itself are logged and reported without
    /// detail.
    private func refusal(for error: any Error, requestID: String) -> PealError {
        switch error {
        case let error as PealError:
            if error.code == .internal { note(error, requestID: requestID) }
            return error
        case Unmatched.path: return PealError(.notFound, "path not found")
        case Unmatched.otherMethod(let allowed):
            return PealError(.methodNotAllowed, "this path allows \(allowed)")
        case is CancellationError: return PealError(.unavailable, "the request was cancelled")
        default:
            note(error, requestID: requestID)
            return PealError(.internal, "an internal error occurred; search the server's log for \(requestID)")
        }
    }

    private func note(_ error: any Error, requestID: String) {
        services.logger.error("a request failed", metadata: ["error": "\(error)", "request_id": "\(requestID)"])
    }
}

extension HTTPRequest.Method {
    /// The method in metrics and in the log; unknown methods share a label because clients can make them up.
    package var label: String {
        switch self {
        case .get, .head, .post, .put, .patch, .delete, .options: rawValue
        default: "OTHER"
        }
    }
}

/// The media types that a body may have.
enum MediaType {
    /// Which media types an API accepts as JSON.
    enum Tolerance {
        /// Only JSON media types.
        case none
        /// JSON, a missing media type, and the media types that HTTP clients send by default.
        case clients
        /// Any.
        case everything
    }

    /// - Parameter contentType: of a repeated header, whose values are joined by commas, the first one counts.
    /// - Throws: `unsupported_media_type`.
    static func check(_ contentType: String?, tolerance: Tolerance) throws(PealError) {
        guard tolerance != .everything, contentType != "application/json" else { return }
        let first = (contentType ?? "").prefix { $0 != ";" && $0 != "," }
        let name = first.lowercased().filter { $0 != " " && $0 != "\t" }
        if name == "application/json" || name.hasSuffix("+json") { return }
        if tolerance == .clients, ["", "text/plain", "application/x-www-form-urlencoded"].contains(name) { return }
        throw PealError(.unsupportedMediaType, "the body must be application/json")
    }
}

/// Refuses the repetition of a request that is still running. A repetition that would be refused by now, such as a send
/// whose expiry has passed, gets the first answer.
struct Repetitions: Sendable {
    private let store: any Store
    private let running = Running()

    init(store: any Store) { self.store = store }

    private struct Name: Hashable {
        let scope: [UInt8]
        let key: String
    }

    private final class Running: Sendable {
        let names = Mutex<Set<Name>>([])
    }

    /// - Throws: `conflict` while the first one is running; otherwise whatever `handler` throws.
    func once(
        _ request: IdempotentRequest, now: Timestamp, handler: () async throws -> Answer
    ) async throws -> Answer {
        let name = Name(scope: request.scope, key: request.key)
        guard running.names.withLock({ $0.insert(name).inserted }) else {
            throw PealError(
                .conflict, "a request with this Idempotency-Key is still running", retryAfterSeconds: 1)
        }
        defer { running.names.withLock { _ = $0.remove(name) } }
        do {
            return try await handler()
        } catch let refusal as PealError where refusal.code.httpStatus < 500 && refusal.code != .idempotencyMismatch {
            guard let kept = try await store.answer(keptFor: request, now: now) else { throw refusal }
            return Answer(kept)
        }
    }
}
