import Logging
import NIOCore
import PealCore
import Synchronization

/// Sends page orders as single requests, for networks where each device has a URL of its own: receives orders of one
/// credential, hands each device's answer to its flight. What `ConnectionPool` is for one HTTP/2 host.
///
/// While anything waits or is on the wire one task runs, with a child for each request; an idle pool has none.
final class RequestPool: Sendable {
    private struct State {
        var queue: RequestQueue
        var isDraining = false
        var isClosed = false
        /// The runner, while there is one.
        var runner: Task<Void, Never>?
        /// The runner, waiting for something to do.
        var waiter: CheckedContinuation<Void, Never>?
        /// Whether anything changed since the runner looked.
        var hasNews = false
    }

    private enum Step {
        case errand(RequestQueue.Errand)
        case wait
        case end(closes: Bool)
    }

    /// How often what may not begin any more is looked for.
    private static let sweepInterval = TimeAmount.milliseconds(250)

    private let exchange: any RequestExchange
    private let client: any OutboundSender
    private let group: any EventLoopGroup
    private let time: any TimeSource
    private let logger: Logger
    private let state: Mutex<State>

    /// Takes the client over: it is closed with the pool.
    init(
        client: any OutboundSender, exchange: any RequestExchange, bounds: RequestQueue.Bounds = .init(),
        group: any EventLoopGroup, time: any TimeSource, logger: Logger
    ) {
        self.client = client
        self.exchange = exchange
        self.group = group
        self.time = time
        self.logger = logger
        state = Mutex(State(queue: RequestQueue(bounds)))
    }

    /// Takes an order; its answers go to its flight.
    func submit(_ order: PageOrder) {
        let page = order.page
        let origins = (0..<page.count).map { exchange.origin(of: page.arena[page.addressRange($0)]) }
        let isTaken = change { state in
            guard !state.isDraining else { return false }
            state.queue.append(order, origins: origins)
            start(&state)
            return true
        }
        if !isTaken { order.flight.answerRest(.unsent("Draining")) }
    }

    /// Begins nothing more; the client goes when everything is answered.
    func drain() {
        let refusals = change { state in
            state.isDraining = true
            start(&state)
            return state.queue.removeAll(.unsent("Draining"))
        }
        for refusal in refusals { refusal.deliver() }
    }

    /// Ends what is on the wire and returns when everything is gone.
    func close() async {
        drain()
        exchange.close()
        let runner = state.withLock { $0.runner }
        runner?.cancel()
        await runner?.value
    }

    /// Whether it was drained and nothing is left of it.
    var isGone: Bool { state.withLock { $0.isClosed } }

    /// Changes the state and lets the runner look at it.
    private func change<R: Sendable>(_ body: (inout State) -> R) -> R {
        let (result, waiter) = state.withLock { state in
            let result = body(&state)
            state.hasNews = true
            return (result, state.waiter.take())
        }
        waiter?.resume()
        return result
    }

    // The runner

    private func start(_ state: inout State) {
        guard state.runner == nil, !state.isClosed else { return }
        // Unstructured because `submit` returns at once. It ends with its work, and `close` waits for it.
        state.runner = Task { await self.run() }
    }

    private func run() async {
        let sweeper = group.next().scheduleRepeatedTask(
            initialDelay: Self.sweepInterval, delay: Self.sweepInterval
        ) { [weak self] _ in self?.sweep() }
        let closes = await withDiscardingTaskGroup(returning: Bool.self) { tasks in
            while true {
                switch step() {
                case .errand(let errand): tasks.addTask { await self.perform(errand) }
                case .wait: await news()
                case .end(let closes): return closes
                }
            }
        }
        sweeper.cancel()
        guard closes else { return }
        exchange.close()
        await client.close()
        state.withLock { state in
            state.isClosed = true
            state.runner = nil
        }
    }

    private func step() -> Step {
        var refusals: [RequestQueue.Refusal] = []
        let step = state.withLock { state -> Step in
            state.hasNews = false
            if let errand = state.queue.pull(uptime: time.uptime, refusals: &refusals) { return .errand(errand) }
            guard state.queue.isEmpty, state.queue.inFlight == 0 else { return .wait }
            // From here on an order that comes begins a runner of its own.
            if !state.isDraining { state.runner = nil }
            return .end(closes: state.isDraining)
        }
        for refusal in refusals { refusal.deliver() }
        return step
    }

    /// Returns when something changed since the last step.
    private func news() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.hasNews { return true }
                state.waiter = continuation
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    private func sweep() {
        let refusals = state.withLock { $0.queue.sweep(uptime: time.uptime) }
        guard !refusals.isEmpty else { return }
        for refusal in refusals { refusal.deliver() }
        change { _ in }
    }

    // One request

    private func perform(_ errand: RequestQueue.Errand) async {
        let ending = await RequestAttempt(exchange: exchange, client: client, subject: errand.subject).run()
        let uptime = time.uptime
        let (answer, refusals) = change { state in
            state.queue.complete(errand, hasReply: ending.hasReply, uptime: uptime)
            let answer = Self.answer(ending, state.queue.isAlone(errand.origin, uptime: uptime))
            return (answer, Self.follow(ending, errand, answer, &state.queue, uptime: uptime))
        }
        if answer.result != .verdict(.accepted) {
            logger.debug(
                "a request was not accepted",
                metadata: ["origin": "\(errand.origin)", "status": "\(answer.status)", "reason": "\(answer.reason)"])
        }
        errand.subject.order.flight.answer(accepted: [], others: [(index: errand.subject.index, answer: answer)])
        for refusal in refusals { refusal.deliver() }
    }

    /// A peer that cannot be reached while others answer is put off alone; it says nothing about the network.
    private static func answer(_ ending: RequestAttempt.Ending, _ isAlone: Bool) -> Answer {
        guard ending.answer.result == .unsent, ending.isUnreachable, isAlone else { return ending.answer }
        return Answer(.verdict(.retry(after: nil)), reason: ending.answer.reason)
    }

    /// What an ending means for those that wait.
    private static func follow(
        _ ending: RequestAttempt.Ending, _ errand: RequestQueue.Errand, _ answer: Answer,
        _ queue: inout RequestQueue, uptime: Duration
    ) -> [RequestQueue.Refusal] {
        if ending.isUnreachable { return queue.remove(origin: errand.origin, answer) }
        if let hold = ending.originHold {
            queue.hold(errand.origin, for: hold, uptime: uptime)
            return queue.sweep(uptime: uptime)
        }
        switch answer.result {
        case .verdict(.stopApp), .verdict(.holdApp), .unsent:
            return queue.remove(errand.subject.order, .unsent("RouteStopped"))
        default: return []
        }
    }
}

/// The request pools of one provider, one for each credential: hands orders to theirs, so that neither the queue nor
/// the connections of one app are another's.
final class RequestPools: Sendable {
    private struct State {
        var pools: [String: RequestPool] = [:]
        /// Pools whose credential went, until `close`.
        var drained: [RequestPool] = []
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Takes an order; its answers go to its flight.
    /// - Parameter make: makes the pool of the order's credential; nil when the credential cannot be used.
    func send(_ order: PageOrder, _ make: (PageOrder) -> RequestPool?) {
        guard order.variants.allSatisfy({ Int($0) < order.notifications.count }) else {
            return order.flight.answerRest(.unsent("NoVariant"))
        }
        let (pool, isClosed) = state.withLock { state in
            if !state.isClosed, state.pools[order.fingerprint] == nil {
                state.pools[order.fingerprint] = make(order)
            }
            return (state.pools[order.fingerprint], state.isClosed)
        }
        guard let pool else { return order.flight.answerRest(.unsent(isClosed ? "Draining" : "NoCredential")) }
        pool.submit(order)
    }

    /// Lets the pool of a credential finish and go.
    func drain(fingerprint: String) {
        let pool = state.withLock { state in
            state.drained.removeAll(where: \.isGone)
            guard let pool = state.pools.removeValue(forKey: fingerprint) else { return nil as RequestPool? }
            state.drained.append(pool)
            return pool
        }
        pool?.drain()
    }

    /// Ends every pool; returns when they are gone.
    func close() async {
        let pools = state.withLock { state in
            state.isClosed = true
            defer {
                state.pools = [:]
                state.drained = []
            }
            return Array(state.pools.values) + state.drained
        }
        await withTaskGroup { group in
            for pool in pools { group.addTask { await pool.close() } }
        }
    }
}
