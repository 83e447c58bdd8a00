package import HTTPTypes
package import Hummingbird
package import Logging
internal import NIOCore
package import PealCore
package import PealExperiments

/// The console: pages for people, under `/console/`. It receives requests from the server's front end and calls the
/// same verbs as the API.
package struct Console: Sendable {
    let services: ConsoleServices
    let sessions: Sessions
    let growths: GrowthCounts
    private let routes: ConsoleRoutes
    private let assets = ConsoleAssets()

    package init(_ services: ConsoleServices) {
        self.services = services
        sessions = Sessions(
            store: services.store, hasher: services.hasher, firstAdmin: services.firstAdmin,
            dialect: services.keyRules.dialect)
        growths = GrowthCounts(store: services.store, time: services.time)
        routes = ConsoleRoutes.all
    }

    /// Whether the console serves a path, which may end in a query.
    package static func owns(_ target: String) -> Bool {
        let (slash, name) = (UInt8(ascii: "/"), "console".utf8)
        let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
        let segments = path.drop { $0 == slash }
        if segments.isEmpty { return path.count == 1 }
        return segments.starts(with: name) && segments.dropFirst(name.count).first ?? slash == slash
    }

    /// Answers a request for a path that the console owns.
    package func respond(to request: Request, from client: ConsoleClient) async throws -> Response {
        let requestID = Hex.encode(services.randomness.bytes(8))
        let texts = Texts(acceptLanguage: request.headers[.acceptLanguage])
        let start = services.time.uptime
        var line = AccessLine(requestID: requestID, method: request.method, address: client.address ?? "")
        var answer: ConsoleAnswer
        do {
            answer = try await page(for: request, from: client, texts, &line)
        } catch let refusal as PealError {
            if refusal.code == .internal { note(refusal, requestID) }
            answer = refused(request, refusal, texts, requestID)
            if refusal.code == .methodNotAllowed { answer.headers[.allow] = routes.allowed(request.head.path ?? "/") }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            note(error, requestID)
            answer = refused(request, PealError(.internal, ""), texts, requestID)
        }
        answer.headers[.named("X-Request-Id")] = requestID
        line.write(status: answer.status.code, after: services.time.uptime - start, services)
        return answer.response(isHead: request.method == .head)
    }

    private func note(_ error: any Error, _ requestID: String) {
        services.logger.error("a page failed", metadata: ["error": "\(error)", "request": "\(requestID)"])
    }

    private func refused(
        _ request: Request, _ refusal: PealError, _ texts: Texts, _ requestID: String
    ) -> ConsoleAnswer {
        let back = routes.back(from: refusal, request.method.rawValue, request.head.path ?? "/")
        return RefusalPage.answer(refusal, texts, back: back, requestID: requestID)
    }

    private func page(
        for request: Request, from client: ConsoleClient, _ texts: Texts, _ line: inout AccessLine
    ) async throws -> ConsoleAnswer {
        let target = (request.head.path ?? "/").split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let segments = URLPath.segments(target[0]) else { throw PealError.notFound("page") }
        if segments.isEmpty { return ConsoleAnswer(redirect: "/console/") }
        let path = Array(segments.dropFirst())
        if path.first == "assets" {
            line.route = "assets"
            return try asset(path.dropFirst().joined(separator: "/"), request)
        }
        let match = try routes.match(request.method == .head ? "GET" : request.method.rawValue, path)
        line.route = match.route.pattern
        guard match.route.need != .admin || client.listener.servesAdmins else { throw PealError.notFound("page") }
        var call = PageCall(
            console: self, texts: texts, now: services.time.now, client: client, requestID: line.requestID,
            isSecure: isSecure(client),
            path: "/" + segments.map(PercentCoding.encode).joined(separator: "/"), parameters: match.parameters,
            query: try form(target.count > 1 ? String(target[1]) : ""))
        let hadCookie = try await findSession(of: &call)
        line.actor = call.holder?.actor
        if match.route.need != .anonymous, call.session == nil {
            // The page of a form has its path, and its script keeps what was filled in.
            let isPage = (try? routes.match("GET", path)) != nil
            return call.signInRedirect(hadCookie: hadCookie, isPage: isPage, isForm: request.method == .post)
        }
        let hold = BodyHold(services.bodies.share(of: client, app: call.holder?.app))
        defer { withExtendedLifetime(hold) {} }
        if request.method == .post { try await readForm(of: request, match.route, hold.share, into: &call) }
        var answer = try await answer(call, match.route)
        try answer.count(in: hold, changesNothing: request.method != .post)
        return answer
    }

    private func asset(_ name: String, _ request: Request) throws -> ConsoleAnswer {
        guard [.get, .head].contains(request.method) else { throw ConsoleRoutes.notAllowed(request.method.rawValue) }
        return try assets.answer(name, headers: request.headers)
    }

    /// - Returns: whether the request has a cookie of this listener, whose session may have ended.
    private func findSession(of call: inout PageCall) async throws -> Bool {
        guard let cookie = call.sessionCookie else { return false }
        call.session = try await sessions.session(cookie, now: call.now)
        // Browsers send the cookie of the listener for admins to every port of the host. It must stay valid there.
        guard call.isAdmin, !call.client.listener.servesAdmins else { return true }
        call.session = nil
        return false
    }

    private func readForm(
        of request: Request, _ route: ConsoleRoute, _ share: any BodyShare, into call: inout PageCall
    ) async throws {
        try checkOrigin(call.client)
        let limit = call.session == nil ? Limits.consoleSignInBytesMax : Limits.consoleFormBytesMax
        let body = try await body(of: request, limit, share, isUnknown: call.session == nil)
        call.form = try form(String(decoding: body, as: UTF8.self))
        guard !call.hasFormSecret else { return }
        guard route.redraw != nil else { throw PageCall.foreignForm }
        call.refusal = PageCall.oldForm
    }

    /// - Throws: `body_too_large` for more fields than a page can search quickly.
    private func form(_ encoded: String) throws(PealError) -> Form {
        guard encoded.utf8.count(where: { $0 == UInt8(ascii: "&") }) < Limits.consoleFormFieldsMax else {
            throw PealError(.bodyTooLarge, "the form has more than \(Limits.consoleFormFieldsMax) fields")
        }
        return Form(encoded: encoded)
    }

    private func answer(_ given: PageCall, _ route: ConsoleRoute) async throws -> ConsoleAnswer {
        var call = given
        try await call.enter(route.need)
        if let redrawn = try await redrawn(call, route) { return redrawn }
        if let question = route.question, call.form["ask"] != nil, call.form["confirmed"] == nil {
            return ConfirmationPage.answer(call, question)
        }
        var answer = try await route.handler(call)
        if let session = call.session, !route.endsSession, let cookie = sessions.renewed(session, now: call.now) {
            answer.setCookie(call.cookieHeader(cookie))
        }
        return answer
    }

    /// The page of a form that must only be shown again; nil for any other form.
    private func redrawn(_ call: PageCall, _ route: ConsoleRoute) async throws -> ConsoleAnswer? {
        guard let redraw = route.redraw, call.refusal != nil || call.form["redraw"] != nil else { return nil }
        var answer = try await redraw(call, call.refusal)
        if let refusal = call.refusal { answer.status = HTTPResponse.Status(code: refusal.code.httpStatus) }
        return answer
    }

    /// Whether the browser's connection is encrypted, here or at a proxy in front.
    private func isSecure(_ client: ConsoleClient) -> Bool {
        if client.listener.isTLS { return true }
        let peer = client.peer?.ipAddress.flatMap { IPAddress($0) }
        guard let peer, services.trustedProxies.contains(peer) else { return false }
        return client.headers[.named("X-Forwarded-Proto")]?.lowercased() == "https"
    }

    /// Refuses forms that another site made the browser submit. Browsers that send neither header are covered by the
    /// form's secret and by the cookie's `SameSite`.
    private func checkOrigin(_ client: ConsoleClient) throws(PealError) {
        let site = client.headers[.named("Sec-Fetch-Site")]
        guard site == nil || site == "same-origin" || site == "none" else { throw PageCall.foreignForm }
    }

    private func body(
        of request: Request, _ limit: Int, _ share: any BodyShare, isUnknown: Bool
    ) async throws -> [UInt8] {
        let type = (request.headers[.contentType] ?? "").prefix { $0 != ";" }.lowercased()
        guard type == "application/x-www-form-urlencoded" else {
            throw PealError(.unsupportedMediaType, "a form must be application/x-www-form-urlencoded")
        }
        let tooLarge = PealError(.bodyTooLarge, "the form is larger than \(limit) bytes")
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limit { throw tooLarge }
        var bytes: [UInt8] = []
        for try await buffer in request.body {
            guard bytes.count + buffer.readableBytes <= limit else { throw tooLarge }
            try share.take(buffer.readableBytes, isUnknown: isUnknown)
            bytes.append(contentsOf: buffer.readableBytesView)
        }
        return bytes
    }
}

/// The dependencies of the console, which the server creates once.
package struct ConsoleServices: Sendable {
    package let verbs: Verbs
    package let experiments: ExperimentReports
    package let authenticator: any SignInAuthenticator
    package let bodies: any ConsoleBodies
    /// The rules of the keys that may sign in.
    package let keyRules: KeyRules
    /// The rules of the keys that are part of apps, which the console creates too.
    package let deviceKeyRules: KeyRules
    package let options: ConsoleOptions
    package let operations: any ConsoleOperations
    package let native: NativeReader
    package let logger: Logger

    var store: any Store { verbs.store }
    var hasher: any KeyHasher { verbs.hasher }
    var firstAdmin: FirstAdmin { verbs.firstAdmin }
    var time: any TimeSource { verbs.time }
    var randomness: any Randomness { verbs.randomness }
    var addressRules: AddressRules { verbs.hosts.addresses }
    var trustedProxies: [IPAddress] { options.trustedProxies }

    package init(
        verbs: Verbs, experiments: ExperimentReports, authenticator: any SignInAuthenticator,
        bodies: any ConsoleBodies, keyRules: KeyRules, deviceKeyRules: KeyRules, options: ConsoleOptions,
        operations: any ConsoleOperations, native: NativeReader, logger: Logger
    ) {
        self.verbs = verbs
        self.experiments = experiments
        self.authenticator = authenticator
        self.bodies = bodies
        self.keyRules = keyRules
        self.deviceKeyRules = deviceKeyRules
        self.options = options
        self.operations = operations
        self.native = native
        self.logger = logger
    }
}

/// The configuration of the console.
package struct ConsoleOptions: Sendable {
    package var trustedProxies: [IPAddress]
    package var version: String
    /// The kinds of webhooks that the server sends to.
    package var webhookKinds: [String]
    /// Whether `peal backup` copies the database; otherwise PostgreSQL's own tools do.
    package var isStoreEmbedded: Bool

    package init(
        trustedProxies: [IPAddress] = [], version: String = "0", webhookKinds: [String] = [],
        isStoreEmbedded: Bool = true
    ) {
        self.trustedProxies = trustedProxies
        self.version = version
        self.webhookKinds = webhookKinds
        self.isStoreEmbedded = isStoreEmbedded
    }
}

/// The state of the server, for the operations page. A port, because only the server knows all of its parts.
package protocol ConsoleOperations: Sendable {
    /// Every subsystem, with the reason if it does not work.
    func readiness() async -> [(subsystem: String, failure: String?)]
    /// The configuration keys with their effective values and where these came from, secrets masked.
    func configurationLines() -> [ConfigurationLine]
    /// The bytes of the embedded database; nil if the store is elsewhere.
    func storeBytes() -> Int64?
    /// A request was answered: counts it.
    /// - Parameter route: The pattern of its path.
    func answered(_ method: HTTPRequest.Method, _ route: String, status: Int, after duration: Duration)
}

/// One key of the configuration, as the operations page shows it.
package struct ConfigurationLine: Sendable {
    /// Where a value comes from.
    package enum Origin: Sendable {
        case commandLine, environment, file, fallback
    }

    package let key: String
    package let value: String
    package let origin: Origin

    package init(key: String, value: String, origin: Origin) {
        self.key = key
        self.value = value
        self.origin = origin
    }
}

/// What the log and the metrics record about a request, as for requests of the API. The path may contain ids of people,
/// so only its pattern is recorded.
struct AccessLine {
    let requestID: String
    let method: HTTPRequest.Method
    let address: String
    /// Below `/console/`; nil for an unknown path.
    var route: String?
    /// nil without a session.
    var actor: Actor?

    func write(status: Int, after duration: Duration, _ services: ConsoleServices) {
        let route = route.map { "/console/\($0)" } ?? "none"
        services.operations.answered(method, route, status: status, after: duration)
        let who = actor.map { actor in actor.name.map { "\(actor.id) (\($0))" } ?? actor.id } ?? "none"
        let microseconds = Int(duration / .microseconds(1))
        services.logger.info(
            "answered a request",
            metadata: [
                "request_id": "\(requestID)", "method": "\(method.rawValue)", "route": "\(route)",
                "status": .stringConvertible(status),
                "duration_ms": .stringConvertible(Double(microseconds) / 1000), "actor": "\(who)",
                "address": "\(address)",
            ])
    }
}
