import PealCore
import Synchronization

/// A push network that answers as a test specifies, at once or when the test allows it.
final class ScriptedProvider: Provider {
    /// What happens to one device's request.
    enum Reply: Sendable {
        case answer(ProviderAnswer)
        /// It begins and gets no answer before `answerOpen`.
        case silence
        /// It never begins.
        case unsent(String)
        /// It begins, but nothing of it is written.
        case withdrawn(String)
        /// It begins, is refused unread, and waits for its next turn until `answerOpen`.
        case refused

        static let accepted = Reply.answer(.accepted)
        static let unregistered = verdict(.retireAddress(since: nil, isSuspicious: false), "Unregistered", status: 410)
        /// Also what a wrong credential can cause, so that many of them are doubted.
        static let badToken = verdict(.retireAddress(since: nil, isSuspicious: true), "BadDeviceToken", status: 400)
        static let credentialRefused = verdict(.stopApp, "InvalidProviderToken", status: 403)

        static func verdict(_ verdict: Verdict, _ reason: String, status: Int = 0) -> Reply {
            .answer(ProviderAnswer(.verdict(verdict), reason: reason, status: status))
        }
    }

    /// One request as the network sees it.
    struct Request: Sendable {
        let message: MessageID
        let key: DeviceKey
        /// The number of earlier sends of this message to this key.
        let earlier: Int
        let lane: Slice.Lane
        let route: Route
    }

    private struct Recipient: Hashable {
        let message: MessageID
        let key: DeviceKey
    }

    private struct State {
        var script: @Sendable (Request) -> Reply = { _ in .accepted }
        var sent: [Recipient: Int] = [:]
        var pages: [PageOrder] = []
        var open: [(order: PageOrder, index: Int)] = []
        var held: [PageOrder] = []
        var isHolding = false
        var drained: [String] = []
        var renderings = 0
        var renderFailure: ContentRefusal?
    }

    let reasons: Set<String> = ["BadDeviceToken", "Unregistered"]
    private let state = Mutex(State())

    func render(_ order: RenderOrder) throws(ContentRefusal) -> Notification {
        let failure = state.withLock { state -> ContentRefusal? in
            state.renderings += 1
            return order.locale == "de" || order.content.locales.isEmpty ? state.renderFailure : nil
        }
        if let failure { throw failure }
        let title = order.content.title?.text(for: order.locale, fallback: order.content.defaultLocale) ?? ""
        return Notification(
            route: order.route, path: .init([]), headers: [], body: .init(Array("\(title)".utf8)))
    }

    func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        CredentialExamination(credential: credential, facts: .init())
    }

    func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        CredentialVerification(.accepted, status: 400, reason: "BadDeviceToken", detail: "the credential is good")
    }

    func send(_ order: PageOrder) {
        let isHeld = state.withLock { state in
            state.pages.append(order)
            if state.isHolding { state.held.append(order) }
            return state.isHolding
        }
        if !isHeld { work(order) }
    }

    func doubtsEnvironment(_ reason: String) -> Bool { reason == "BadDeviceToken" }
    func drain(fingerprint: String) { state.withLock { $0.drained.append(fingerprint) } }
    func share(among servers: Int) {}
    func close() async {}

    private func work(_ order: PageOrder) {
        var accepted: [Int32] = []
        var others: [(index: Int, answer: ProviderAnswer)] = []
        var (begun, withdrawn) = (0, 0)
        for (index, key) in order.page.keys.enumerated() {
            if order.control.isStopped {
                others.append((index, ProviderAnswer(.unsent, reason: "Stopped")))
                continue
            }
            switch reply(order, key) {
            case .unsent(let reason):
                others.append((index, ProviderAnswer(.unsent, reason: reason)))
                continue
            case .withdrawn(let reason):
                others.append((index, ProviderAnswer(.unsent, reason: reason)))
                withdrawn += 1
                continue
            case .refused:
                state.withLock { $0.open.append((order, index)) }
                withdrawn += 1
                continue
            case .silence: state.withLock { $0.open.append((order, index)) }
            case .answer(.accepted): accepted.append(Int32(index))
            case .answer(let answer): others.append((index, answer))
            }
            begun += 1
            state.withLock { $0.sent[Recipient(message: order.slice.message, key: key), default: 0] += 1 }
        }
        order.flight.begin(begun + withdrawn)
        order.flight.withdraw(withdrawn)
        order.flight.answer(accepted: accepted, others: others)
    }

    private func reply(_ order: PageOrder, _ key: DeviceKey) -> Reply {
        let (script, earlier) = state.withLock {
            ($0.script, $0.sent[Recipient(message: order.slice.message, key: key)] ?? 0)
        }
        return script(
            Request(
                message: order.slice.message, key: key, earlier: earlier, lane: order.lane,
                route: order.slice.route))
    }

    func answers(_ script: @escaping @Sendable (Request) -> Reply) { state.withLock { $0.script = script } }
    func failRendering(_ error: ContentRefusal?) { state.withLock { $0.renderFailure = error } }

    /// Holds pages back until `release`.
    func hold() { state.withLock { $0.isHolding = true } }

    /// Processes the first `limit` of the waiting pages. With `andHold`, later ones wait again.
    func release(_ limit: Int = .max, andHold: Bool = false) {
        let held = state.withLock { state in
            state.isHolding = andHold
            defer { state.held.removeFirst(min(limit, state.held.count)) }
            return state.held.prefix(limit)
        }
        for order in held { work(order) }
    }

    /// Answers every request that has had no answer.
    func answerOpen(_ answer: ProviderAnswer = .accepted, limit: Int = .max) {
        let open = state.withLock { state in
            defer { state.open.removeFirst(min(limit, state.open.count)) }
            return state.open.prefix(limit)
        }
        for (order, index) in open { order.flight.answer(accepted: [], others: [(index, answer)]) }
    }

    /// How often each device of a message was sent to.
    func sent(_ message: MessageID) -> [DeviceKey: Int] {
        state.withLock { state in
            var counts: [DeviceKey: Int] = [:]
            for (recipient, count) in state.sent where recipient.message == message { counts[recipient.key] = count }
            return counts
        }
    }

    func sentCount(_ message: MessageID) -> Int { sent(message).count }

    /// How many devices of a message were sent to more than once.
    func repeatCount(_ message: MessageID, except key: DeviceKey? = nil) -> Int {
        sent(message).count { $0.value > 1 && $0.key != key }
    }

    var pages: [PageOrder] { state.withLock { $0.pages } }
    var heldCount: Int { state.withLock { $0.held.count } }
    var drained: [String] { state.withLock { $0.drained } }
    var renderings: Int { state.withLock { $0.renderings } }
}
