import Logging
import NIOCore
import PealCore
import Synchronization

/// The connections to one endpoint under one credential. Receives page orders, lets its connections pull devices from
/// them, opens and replaces connections, and hands each device's answer to the order's flight exactly once.
final class ConnectionPool: Sendable {
    /// The limits and intervals of a pool.
    struct Settings: Sendable {
        var connectionsMax = Limits.connectionsPerPoolMax
        /// Minimum time between two openings, so that a new connection can show its capacity first.
        var openingPause = Duration.milliseconds(50)
        /// Highest stream id of a connection; the pool replaces the connection before it gets there.
        var streamIDMax = HTTP2Frame.streamIDMax
        /// How often a connection checks for timeouts, stalls and idleness.
        var tick = TimeAmount.seconds(1)
        /// How often the pool checks for stopped and overdue orders.
        var sweep = TimeAmount.milliseconds(250)
    }

    let exchange: any Exchange
    let connector: any Connecting
    let settings: Settings
    let time: any TimeSource
    let randomness: any Randomness
    let logger: Logger
    private let pace: Pace?
    private let state: Mutex<PoolState>
    private let ticking: Mutex<RepeatedTask?>

    /// - Parameter pace: limits how fast requests begin; nil if only the connections limit it.
    init(
        connector: any Connecting, exchange: any Exchange, settings: Settings = .init(), pace: Pace? = nil,
        time: any TimeSource, randomness: any Randomness, logger: Logger
    ) {
        self.pace = pace
        self.connector = connector
        self.exchange = exchange
        self.settings = settings
        self.time = time
        self.randomness = randomness
        self.logger = logger
        state = Mutex(
            PoolState(connectionsMax: settings.connectionsMax, openingPause: settings.openingPause, pace: pace))
        ticking = Mutex(nil)
        let task = connector.group.next().scheduleRepeatedTask(
            initialDelay: settings.sweep, delay: settings.sweep
        ) { [weak self] task in
            if let self { self.sweep() } else { task.cancel() }
        }
        ticking.withLock { $0 = task }
    }

    // From the provider

    /// Queues an order; its answers go to the order's flight.
    func submit(_ order: PageOrder) {
        let open = OpenOrder(order)
        transact { state, effects in state.submit(open, &effects) }
    }

    /// Begins no further requests; each connection closes when its open requests are answered.
    func drain() {
        transact { state, effects in state.drain(&effects) }
    }

    /// Closes every connection at once and returns when all are gone.
    func close() async {
        transact { state, effects in state.drain(&effects) }
        let handles = state.withLock { $0.handles }
        for handle in handles { handle.abort() }
        await withCheckedContinuation { continuation in
            let isGone = state.withLock { $0.waitForEnd(continuation) }
            if isGone { continuation.resume() }
        }
        ticking.withLock { $0.take() }?.cancel()
    }

    // From connections

    /// Registers a connected connection. Returns false if it must close again.
    func attach(_ id: Int, _ handle: ConnectionHandle) -> Bool {
        transact { state, _ in state.attach(id, handle) }
    }

    /// The next devices for a connection; nil if nothing waits or nothing fits. The pool then wakes the connection
    /// later, or the connection asks again when it has more room.
    func pull(_ id: Int, _ budget: PoolQueue.Budget) -> PoolQueue.Run? {
        transact { state, effects in state.pull(id, budget, uptime: time.uptime, &effects) }
    }

    /// The connection received its first answer.
    func prove(_ id: Int) {
        transact { state, _ in state.prove(id) }
    }

    /// The connection's requests are overdue and none was answered meanwhile.
    func noteMute() { state.withLock { $0.noteMute() } }

    /// Whether no request was answered since `noteMute`.
    var isMute: Bool { state.withLock(\.isMute) }

    /// Queues requests again that the peer proved unprocessed.
    func requeue(_ resends: [PoolQueue.Resend]) {
        transact { state, effects in state.requeue(resends, &effects) }
    }

    /// The credential was refused: no further request of the order may begin.
    func stop(_ order: OpenOrder) {
        transact { state, effects in
            effects.refusals += state.queue.remove { $0 === order ? .unsent("RouteStopped") : nil }
        }
    }

    /// The provider asked the whole app to wait: every queued request is answered `unsent`.
    func hold(for wait: Duration) {
        pace?.throttle(for: wait, at: time.uptime)
        transact { state, effects in effects.refusals += state.queue.remove { _ in .unsent("Throttled") } }
    }

    /// The connection has no authorization: every queued request gets `answer`.
    func refuse(_ id: Int, _ answer: ProviderAnswer) {
        transact { state, effects in state.refuse(id, answer, &effects) }
    }

    /// The provider closed a connection for a reason that affects every queued request: each gets `answer`.
    func refuse(_ answer: ProviderAnswer) {
        transact { state, effects in effects.refusals += state.queue.remove { _ in answer } }
    }

    /// The connection soon runs out of stream ids: the pool opens another one.
    func announceEnd(_ id: Int) {
        transact { state, _ in state.announceEnd(id) }
    }

    /// The connection begins no further requests.
    func retire(_ id: Int) {
        transact { state, _ in state.retire(id) }
    }

    /// Whether the pool can do without this connection while it is idle.
    func isSpare(_ id: Int) -> Bool { state.withLock { $0.lead != id } }

    /// The connection is gone. Called once for each opened connection.
    /// - Parameter failure: the reason for queued requests if the connection failed: `NoTLS` or `NoConnection`.
    func end(_ id: Int, hasAnswered: Bool, failure: String = "NoConnection") {
        let jitter = Double(randomness.next() % 1000) / 1000
        transact { state, effects in
            state.end(id, hasAnswered: hasAnswered, failure: failure, uptime: time.uptime, jitter: jitter, &effects)
        }
    }

    private func sweep() {
        transact { state, effects in state.sweep(uptime: time.uptime, &effects) }
    }

    /// Changes the state under the lock and performs the effects outside it.
    private func transact<R>(_ body: (inout PoolState, inout PoolState.Effects) -> R) -> R where R: Sendable {
        var effects = PoolState.Effects()
        let result = state.withLock { state in
            let result = body(&state, &effects)
            state.consider(uptime: time.uptime, &effects)
            return result
        }
        for refusal in effects.refusals { refusal.deliver() }
        for handle in effects.wakes { handle.wake() }
        for handle in effects.finishes { handle.finish() }
        for id in effects.openings { open(id) }
        if let pause = effects.pause { resume(after: pause) }
        effects.ended?.resume()
        return result
    }

    private func resume(after pause: Duration) {
        connector.group.next().scheduleTask(in: TimeAmount(pause)) { [weak self] in
            self?.transact { state, effects in state.resume(&effects) }
        }
    }

    private func open(_ id: Int) {
        logger.debug("opening a connection", metadata: ["host": "\(connector.endpoint.authority)"])
        connector.connect { [self] in HTTP2ConnectionHandler(pool: self, id: id) }
            .whenFailure { [self] error in
                logger.warning(
                    "connecting failed",
                    metadata: ["host": "\(connector.endpoint.authority)", "error": "\(error)"])
                end(id, hasAnswered: false)
            }
    }
}

/// How a pool reaches one of its connections, from any thread.
struct ConnectionHandle: Sendable {
    /// Work is waiting.
    let wake: @Sendable () -> Void
    /// Begin no further requests and close when all open ones are answered.
    let finish: @Sendable () -> Void
    /// Close at once.
    let abort: @Sendable () -> Void
}
