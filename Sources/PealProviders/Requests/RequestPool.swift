import Logging
import NIOCore
import PealCore
import Synchronization

/// Sends page orders as single requests, for networks where each device has its own URL. Receives the orders of one
/// credential and hands each device's answer to its flight. The counterpart of `ConnectionPool`, which serves one
/// HTTP/2 host.
///
/// While a request waits or is in flight, one task runs with a child task for each request; an idle pool has none.
final class RequestPool: Sendable {
    private struct State {
        var queue: RequestQueue
        var isDraining = false
        var isClosed = false
        /// The running task; nil if the pool is idle.
        var runner: Task<Void, Never>?
        /// The runner's continuation while it waits for work.
        var waiter: CheckedContinuation<Void, Never>?
        /// Whether anything changed since the runner last looked.
        var hasNews = false
        /// Whether the operator was warned that requests are refused.
        var hasAlerted = false
    }

    private enum Step {
        case errand(RequestQueue.Errand)
        case wait
        case end(closes: Bool)
    }

    /// How often the pool checks for requests that may no longer begin.
    private static let sweepInterval = TimeAmount.milliseconds(250)

    private let exchange: any RequestExchange
    private let client: any OutboundSender
    private let group: any EventLoopGroup
    private let time: any TimeSource
    private let logger: Logger
    private let state: Mutex<State>

    /// Takes ownership of the client and closes it with the pool.
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

    /// Queues an order; its answers go to its flight.
    func submit(_ order: PageOrder) {
        let page = order.page
        let origins = (0..<page.count).map { exchange.origin(of: page.arena[page.addressRange($0)]) }
        let isTaken = change { state in
            guard !state.isDraining else { return false }
            state.queue.append(order, origins: origins, isUntrusted: exchange.isUntrusted)
            start(&state)
            return true
        }
        if !isTaken { order.flight.answerRest(.unsent("Draining")) }
    }

    /// Begins no further requests; the client closes when all are answered.
    func drain() {
        let refusals = change { state in
            state.isDraining = true
            start(&state)
            return state.queue.removeAll(.unsent("Draining"))
        }
        for refusal in refusals { refusal.deliver() }
    }

    /// Cancels the requests in flight and returns when everything has ended.
    func close() async {
        drain()
        exchange.close()
        let runner = state.withLock { $0.runner }
        runner?.cancel()
        await runner?.value
    }

    /// Whether the pool is drained and closed, for tests.
    var isGone: Bool { state.withLock { $0.isClosed } }

    /// Changes the state and wakes the runner.
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
        var refusals: [RefusedDevices] = []
        let step = state.withLock { state -> Step in
            state.hasNews = false
            if let errand = state.queue.pull(uptime: time.uptime, refusals: &refusals) { return .errand(errand) }
            guard state.queue.isEmpty, state.queue.inFlight == 0 else { return .wait }
            // From here on, a new order starts another runner.
            if !state.isDraining { state.runner = nil }
            return .end(closes: state.isDraining)
        }
        for refusal in refusals { refusal.deliver() }
        return step
    }

    /// Returns when something has changed since the last step.
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
                .atHost(isUntrusted: errand.isUntrusted)
            return (answer, Self.follow(ending, errand, answer, &state.queue, uptime: uptime))
        }
        if exchange.needsAlert(answer), isFirstAlert() {
            logger.error(
                "the provider refuses Peal's requests",
                metadata: [
                    "origin": "\(errand.origin)", "status": .stringConvertible(answer.status),
                    "reason": "\(answer.reason)",
                ])
        }
        if answer.result != .verdict(.accepted) {
            logger.debug(
                "a request was not accepted",
                metadata: [
                    "origin": "\(errand.origin)", "status": .stringConvertible(answer.status),
                    "reason": "\(answer.reason)",
                ])
        }
        errand.subject.order.flight.answer(accepted: [], others: [(index: errand.subject.index, answer: answer)])
        for refusal in refusals { refusal.deliver() }
    }

    private func isFirstAlert() -> Bool {
        state.withLock { state in
            defer { state.hasAlerted = true }
            return !state.hasAlerted
        }
    }

    /// If a peer cannot be reached while others answer, only that peer is deferred; the network is not at fault.
    private static func answer(_ ending: RequestAttempt.Ending, _ isAlone: Bool) -> ProviderAnswer {
        guard ending.answer.result == .unsent, ending.isUnreachable, isAlone else { return ending.answer }
        return ending.answer.with(.retry(after: nil))
    }

    /// Applies an ending to the queue: answers or holds the requests that it affects.
    private static func follow(
        _ ending: RequestAttempt.Ending, _ errand: RequestQueue.Errand, _ answer: ProviderAnswer,
        _ queue: inout RequestQueue, uptime: Duration
    ) -> [RefusedDevices] {
        if ending.isUnreachable { return queue.remove(origin: errand.origin, answer) }
        if let hold = ending.originHold {
            queue.hold(errand.origin, for: hold, isUntrusted: errand.isUntrusted, uptime: uptime)
            return queue.sweep(uptime: uptime)
        }
        switch answer.result {
        // The network counts the app's requests together, so every other order would get the same answer.
        case .verdict(.holdApp): return queue.removeAll(.unsent("Throttled"))
        case .verdict(.stopApp), .unsent:
            // First those whose deadline has passed as well.
            return queue.sweep(uptime: uptime) + queue.remove(errand.subject.order, .unsent("RouteStopped"))
        case .verdict(.accepted), .verdict(.rejectMessage), .verdict(.retireAddress), .verdict(.holdAddress),
            .verdict(.refreshCredential), .verdict(.reconnect), .verdict(.retry), .lost, .held:
            return []
        }
    }
}

/// The request pools of one provider, one per credential. Hands each order to its pool, so that apps share neither
/// queues nor connections.
final class RequestPools: Sendable {
    private let table = Mutex(PoolTable<String, RequestPool>())

    /// Hands an order to its pool; its answers go to its flight.
    /// - Parameter make: creates the pool of the order's credential; nil if the credential is unusable.
    func send(_ order: PageOrder, _ make: (PageOrder) -> RequestPool?) {
        guard order.hasEveryVariant else { return order.flight.answerRest(.unsent("NoVariant")) }
        let (pool, isClosed) = table.withLock { table in
            if let known = table.entries[order.fingerprint] { return (known as RequestPool?, false) }
            let made = table.isClosed ? nil : make(order).flatMap { table.keep($0, for: order.fingerprint) }
            return (made, table.isClosed)
        }
        guard let pool else { return order.flight.answerRest(.unsent(isClosed ? "Draining" : "NoCredential")) }
        pool.submit(order)
    }

    /// Lets the pool of a credential finish and close.
    func drain(fingerprint: String) {
        for pool in table.withLock({ $0.remove { $0 == fingerprint } }) { pool.drain() }
    }

    /// Closes every pool and returns when they are gone.
    func close() async { await table.withLock { $0.close() }.close() }
}

/// A provider that sends each notification as a separate request to the host in the device's address. Its pools, one
/// per credential, keep queues and connections.
protocol RequestProvider: Provider {
    var pools: RequestPools { get }
    /// nil if the credential cannot be used.
    func makePool(_ order: PageOrder) -> RequestPool?
}

extension RequestProvider {
    package func send(_ order: PageOrder) { pools.send(order, makePool) }

    package func drain(fingerprint: String) { pools.drain(fingerprint: fingerprint) }

    package func close() async { await pools.close() }

    /// Its limits are not those of all servers together.
    package func share(among servers: Int) {}
}
