import Logging
import NIOHTTP1
import PealCore
import Synchronization
import Testing

@testable import PealProviders

/// A token endpoint that a test controls: the test determines the answers and their times.
final class ScriptedTokens: AccessTokenSource {
    private struct State {
        var replies: [AccessTokenReply]
        var fetches = 0
        var isHeld: Bool
        var held: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>
    private let life: Duration

    /// - Parameter replies: the first ones; then each is a grant of `token-N` for `life`.
    init(_ replies: [AccessTokenReply] = [], life: Duration = .seconds(3599), isHeld: Bool = false) {
        state = Mutex(State(replies: replies, isHeld: isHeld))
        self.life = life
    }

    var fetches: Int { state.withLock { $0.fetches } }

    func fetch() async -> AccessTokenReply {
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                state.fetches += 1
                if state.isHeld { state.held.append(continuation) }
                return state.isHeld
            }
            if !isHeld { continuation.resume() }
        }
        return state.withLock { state in
            state.replies.isEmpty
                ? .granted(accessToken: "token-\(state.fetches)", life: life) : state.replies.removeFirst()
        }
    }

    /// Lets every request be answered.
    func release() {
        let held = state.withLock { state in
            state.isHeld = false
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }
}

@Suite("Access tokens", .timeLimit(.minutes(10)))
struct AccessTokensTests {
    let time = ManualTime()

    private func tokens(_ source: ScriptedTokens) -> AccessTokens {
        AccessTokens(
            source: source, time: time, randomness: SeededRandomness(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func text(_ authorization: Authorization?) -> String? {
        authorization.map { String(decoding: $0.value, as: UTF8.self) }
    }

    private func text(_ readiness: AccessTokens.Readiness) -> String? {
        if case .ready(let authorization) = readiness { text(authorization) } else { nil }
    }

    /// Waits until the renewing task has ended.
    private func settle(_ source: ScriptedTokens, _ tokens: AccessTokens, version: Int) async {
        while tokens.authorization?.version != version, !Task.isCancelled { await Task.yield() }
    }

    @Test("the first one is requested once, however many wait")
    func singleFlight() async {
        let source = ScriptedTokens(isHeld: true)
        let tokens = tokens(source)
        #expect(tokens.authorization == nil)
        let answers = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<50 { group.addTask { text(await tokens.ready()) } }
            while source.fetches == 0, !Task.isCancelled { await Task.yield() }
            source.release()
            return await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(answers == ["Bearer token-1"])
        #expect(source.fetches == 1)
        #expect(text(tokens.authorization) == "Bearer token-1")
    }

    @Test("it is renewed five minutes before it expires, and used meanwhile")
    func renewal() async {
        let source = ScriptedTokens(life: .seconds(3600))
        let tokens = tokens(source)
        _ = await tokens.ready()
        time.advance(.seconds(3600 - 301))
        #expect(tokens.authorization?.version == 1)
        #expect(source.fetches == 1)
        time.advance(.seconds(1))
        // A caller still gets the old token; its call starts the renewal.
        #expect(tokens.authorization?.version == 1)
        await settle(source, tokens, version: 2)
        #expect(source.fetches == 2)
    }

    @Test("one that could not be renewed is used until it expires, and no longer")
    func end() async {
        let source = ScriptedTokens([
            .granted(accessToken: "first", life: .seconds(3600)),
            .failed(.init(reason: "Status503", status: 503), retryAfter: .seconds(600)),
        ])
        let tokens = tokens(source)
        _ = await tokens.ready()
        time.advance(.seconds(3400))
        #expect(text(await tokens.ready()) == "Bearer first")
        while tokens.obstacle != .unsent("Status503"), !Task.isCancelled { await Task.yield() }
        time.advance(.seconds(199))
        #expect(text(tokens.authorization) == "Bearer first")
        time.advance(.seconds(1))
        #expect(tokens.authorization == nil)
        #expect(await tokens.ready() == .unavailable(.unsent("Status503")))
        #expect(source.fetches == 2)
        time.advance(.seconds(400))
        #expect(text(await tokens.ready()) == "Bearer token-3")
    }

    @Test("it is renewed after the wall clock jumped beyond its expiry, and used meanwhile")
    func jump() async {
        let source = ScriptedTokens([
            .granted(accessToken: "first", life: .seconds(3600)), .refused(.init(reason: "invalid_grant", status: 400)),
        ])
        let tokens = tokens(source)
        _ = await tokens.ready()
        time.jump(.seconds(-86_400))
        #expect(text(tokens.authorization) == "Bearer first")
        #expect(source.fetches == 1, "a clock set back makes no token older")
        time.jump(.seconds(2 * 86_400))
        #expect(text(await tokens.ready()) == "Bearer first")
        while tokens.obstacle.reason != "invalid_grant", !Task.isCancelled { await Task.yield() }
        #expect(text(tokens.authorization) == "Bearer first", "the clock was wrong, not the token")
        #expect(source.fetches == 2)
        time.advance(AccessTokens.refusalPause)
        #expect(text(tokens.authorization) == "Bearer first")
        while tokens.authorization?.version != 2, !Task.isCancelled { await Task.yield() }
        #expect(source.fetches == 3)
    }

    @Test("a day passes with one request every 55 minutes")
    func day() async {
        let source = ScriptedTokens(life: .seconds(3599))
        let tokens = tokens(source)
        _ = await tokens.ready()
        for minute in 1...(24 * 60) {
            time.advance(.seconds(60))
            #expect(tokens.authorization != nil)
            // 3599 - 300 seconds are full after 55 minutes.
            await settle(source, tokens, version: minute / 55 + 1)
        }
        #expect(source.fetches == 27)
    }

    @Test("a refused credential stops the app, with the endpoint's reason, and is retried after a while")
    func refusal() async {
        let source = ScriptedTokens([.refused(.init(reason: "invalid_grant", status: 400))])
        let tokens = tokens(source)
        let stop = ProviderAnswer(.verdict(.stopApp), reason: "invalid_grant", status: 400)
        #expect(await tokens.ready() == .unavailable(stop))
        #expect(tokens.obstacle == stop)
        time.advance(AccessTokens.refusalPause - .seconds(1))
        #expect(await tokens.ready() == .unavailable(stop))
        #expect(source.fetches == 1)
        time.advance(.seconds(1))
        #expect(text(await tokens.ready()) == "Bearer token-2")
    }

    @Test("after each failure of the endpoint the pause is longer, and callers do not wait for it")
    func backOff() async {
        let failure = AccessTokenReply.failed(.init(reason: "NoConnection"), retryAfter: nil)
        let source = ScriptedTokens(Array(repeating: failure, count: 12))
        let tokens = tokens(source)
        var pauses: [Int] = []
        for attempt in 1...12 {
            var halves = 0
            while source.fetches < attempt {
                #expect(await tokens.ready() == .unavailable(.unsent("NoConnection")))
                guard source.fetches < attempt else { break }
                time.advance(.milliseconds(500))
                halves += 1
            }
            pauses.append(halves)
        }
        // The first at once; then between half of and the whole of 1, 2, 4, … 60 seconds.
        for (number, halves) in pauses.enumerated().dropFirst() {
            let most = min(120, 2 << (number - 1))
            #expect((most / 2...most).contains(halves), "pause \(number): \(halves)")
        }
    }

    @Test("a token that the network refuses is replaced once; when the new one is refused, the app stops")
    func refusedToken() async {
        let source = ScriptedTokens()
        let tokens = tokens(source)
        _ = await tokens.ready()
        #expect(tokens.refused(version: 1) == .refreshCredential)
        #expect(tokens.refused(version: 1) == .refreshCredential)
        #expect(text(await tokens.ready()) == "Bearer token-2")
        // Other requests that were sent under the first one.
        #expect(tokens.refused(version: 1) == .refreshCredential)
        #expect(source.fetches == 2)
        #expect(tokens.refused(version: 2) == .stopApp)
        #expect(tokens.refused(version: 2) == .stopApp)
        let stop = ProviderAnswer(.verdict(.stopApp), reason: "AccessTokenRefused", status: 401)
        #expect(await tokens.ready() == .unavailable(stop))
        time.advance(AccessTokens.refusalPause)
        #expect(text(await tokens.ready()) == "Bearer token-3")
        #expect(tokens.refused(version: 3) == .stopApp)
        #expect(source.fetches == 3)
    }

    @Test("a new token that is refused for one device, and accepted for others, stays in use")
    func refusedForOne() async {
        let source = ScriptedTokens()
        let tokens = tokens(source)
        _ = await tokens.ready()
        tokens.accepted(version: 1)
        #expect(tokens.refused(version: 1) == .refreshCredential)
        #expect(text(await tokens.ready()) == "Bearer token-2")
        // The network may refuse everything now, so nothing is lost.
        #expect(tokens.refused(version: 2) == .holdAddress(after: .seconds(600)))
        time.advance(.seconds(1))
        tokens.accepted(version: 1)
        #expect(tokens.refused(version: 2) == .holdAddress(after: .seconds(600)))
        tokens.accepted(version: 2)
        #expect(tokens.refused(version: 2) == .rejectMessage)
        time.advance(.seconds(10))
        #expect(tokens.refused(version: 2) == .holdAddress(after: .seconds(600)))
        #expect(text(tokens.authorization) == "Bearer token-2")
        time.advance(.seconds(589))
        #expect(tokens.refused(version: 2) == .refreshCredential)
        #expect(text(await tokens.ready()) == "Bearer token-3")
        #expect(source.fetches == 3)
    }

    @Test("an acceptance of six hours ago does not keep the app from being stopped")
    func refusedForAll() async {
        let tokens = tokens(ScriptedTokens(life: .seconds(86_400)))
        _ = await tokens.ready()
        tokens.accepted(version: 1)
        time.advance(.seconds(6 * 3600))
        #expect(tokens.refused(version: 1) == .refreshCredential)
        _ = await tokens.ready()
        #expect(tokens.refused(version: 2) == .stopApp)
    }

    @Test("a token that worked for long is replaced again")
    func refusedLater() async {
        let tokens = tokens(ScriptedTokens())
        _ = await tokens.ready()
        #expect(tokens.refused(version: 1) == .refreshCredential)
        _ = await tokens.ready()
        time.advance(.seconds(600))
        #expect(tokens.refused(version: 2) == .refreshCredential)
    }

    @Test("an explicit renewal ends every pause")
    func renew() async {
        let source = ScriptedTokens([.refused(.init(reason: "invalid_grant", status: 400))])
        let tokens = tokens(source)
        _ = await tokens.ready()
        #expect(await tokens.renew() == .granted(accessToken: "token-2", life: .seconds(3599)))
        #expect(text(await tokens.ready()) == "Bearer token-2")
    }

    @Test("a closed one releases its waiters")
    func close() async {
        let source = ScriptedTokens(isHeld: true)
        let tokens = tokens(source)
        async let waiting = tokens.ready()
        while source.fetches == 0, !Task.isCancelled { await Task.yield() }
        tokens.close()
        #expect(await waiting == .unavailable(.unsent("Draining")))
        source.release()
        #expect(await tokens.ready() == .unavailable(.unsent("Draining")))
        #expect(tokens.authorization == nil)
    }
}

@Suite("Answers of token endpoints")
struct AccessTokenReplyTests {
    private static let now = Timestamp(seconds: 784_111_777)

    private static func failure(_ reason: String, _ status: Int, _ detail: String = "") -> AccessTokenReply.Failure {
        .init(reason: reason, status: status, detail: detail)
    }

    private static let grant = AccessTokenReply.granted(accessToken: "abc", life: .seconds(3599))
    private static let badAnswer = AccessTokenReply.failed(
        failure("BadTokenAnswer", 200, "the answer contains no access token"), retryAfter: nil)

    static let rows: [(Int, String, AccessTokenReply)] = [
        (200, #"{"access_token":"abc","expires_in":3599,"token_type":"Bearer"}"#, grant),
        (200, #"{"access_token":"abc","expires_in":"3599"}"#, grant),
        (200, #"{"access_token":"abc"}"#, .granted(accessToken: "abc", life: .seconds(3600))),
        (200, #"{"access_token":"abc","expires_in":1e12}"#, .granted(accessToken: "abc", life: .seconds(86_400))),
        (200, #"{"access_token":"a\r\nb"}"#, badAnswer), (200, #"{"access_token":""}"#, badAnswer),
        (200, "<html>", badAnswer),
        (
            400, #"{"error":"invalid_grant","error_description":"Invalid JWT: check iat\n"}"#,
            .refused(failure("invalid_grant", 400, "Invalid JWT: check iat "))
        ),
        (401, #"{"error":"invalid_client"}"#, .refused(failure("invalid_client", 401))),
        (400, "", .refused(failure("Status400", 400))),
        (400, #"{"error":"no word"}"#, .refused(failure("Status400", 400))),
        (
            400, #"{"error":"temporarily_unavailable"}"#,
            .failed(failure("temporarily_unavailable", 400), retryAfter: nil)
        ),
        (403, #"{"error":"access_denied"}"#, .refused(failure("access_denied", 403))),
        (403, "blocked", .failed(failure("Status403", 403), retryAfter: .seconds(7))),
        (404, "", .failed(failure("Status404", 404), retryAfter: .seconds(7))),
        (429, "", .failed(failure("Status429", 429), retryAfter: .seconds(7))),
        (503, "{}", .failed(failure("Status503", 503), retryAfter: .seconds(7))),
        (302, "", .failed(failure("Status302", 302), retryAfter: .seconds(7))),
    ]

    @Test("are grants, refusals or failure", arguments: rows)
    func table(status: Int, body: String, expected: AccessTokenReply) {
        let reply = OutboundReply(status: status, headers: ["retry-after": "7"], body: Array(body.utf8))
        #expect(AccessTokenReply(reply, now: Self.now) == expected)
    }
}
