import Logging
import NIOCore
import PealCore
import Synchronization

/// The connections to one endpoint under one credential: takes page orders, lets its connections pull from them, opens
/// and replaces connections, and sees to it that every device of every order gets its one answer.
final class ConnectionPool: Sendable {
    struct Settings: Sendable {
        var connectionsMax = Limits.connectionsPerPoolMax
        /// Least time between two openings, so that a new connection shows what it brings.
        var openingPause = Duration.milliseconds(50)
        /// A connection is replaced before its streams reach this id.
        var streamIDMax = HTTP2Frame.streamIDMax
        /// How often connections look at the time.
        var tick = TimeAmount.seconds(1)
        /// How often stopped and overdue orders are looked for.
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

    /// - Parameter pace: how fast requests may begin; nil = as fast as connections take them.
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

    /// Takes an order; its answers go to its flight.
    func submit(_ order: PageOrder) {
        let open = OpenOrder(order)
        transact { state, effects in state.submit(open, &effects) }
    }

    /// Begins nothing more; connections go when they are answered.
    func drain() {
        transact { state, effects in state.drain(&effects) }
    }

    /// Ends every connection at once and returns when they are gone.
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

    /// Whether no connection is left.
    var isGone: Bool { state.withLock { $0.handles.isEmpty } }

    // From connections

    /// A connection came to life. Returns false when it is to go again.
    func attach(_ id: Int, _ handle: ConnectionHandle) -> Bool {
        transact { state, _ in state.attach(id, handle) }
    }

    /// The next devices for a connection; nil when there is nothing, or nothing that fits: it will be woken, or asks
    /// again when it has more room.
    func pull(_ id: Int, _ budget: PoolQueue.Budget) -> PoolQueue.Run? {
        transact { state, effects in state.pull(id, budget, uptime: time.uptime, &effects) }
    }

    /// The connection's first answer came.
    func prove(_ id: Int) {
        transact { state, _ in state.prove(id) }
    }

    /// Takes back requests that were proven unprocessed.
    func requeue(_ resends: [PoolQueue.Resend]) {
        transact { state, effects in state.requeue(resends, &effects) }
    }

    /// The credential was refused: nothing more of the order may begin.
    func stop(_ order: OpenOrder) {
        transact { state, effects in
            effects.refusals += state.queue.remove { $0 === order ? .unsent("RouteStopped") : nil }
        }
    }

    /// The provider asked the whole app to wait: nothing that waits here may begin.
    func hold(for wait: Duration) {
        pace?.throttle(for: wait, at: time.uptime)
        transact { state, effects in effects.refusals += state.queue.remove { _ in .unsent("Throttled") } }
    }

    /// There is no authorization: what waits gets `answer`.
    func refuse(_ id: Int, _ answer: Answer) {
        transact { state, effects in state.refuse(id, answer, &effects) }
    }

    /// The provider ended a connection with a word that concerns whatever waits: nothing of it may begin.
    func refuse(_ answer: Answer) {
        transact { state, effects in effects.refusals += state.queue.remove { _ in answer } }
    }

    /// The connection will soon take nothing more: another one is opened beside it.
    func announceEnd(_ id: Int) {
        transact { state, _ in state.announceEnd(id) }
    }

    /// The connection begins nothing more.
    func retire(_ id: Int) {
        transact { state, _ in state.retire(id) }
    }

    /// Whether an idle connection is one too many.
    func isSpare(_ id: Int) -> Bool { state.withLock { $0.lead != id } }

    /// The connection is gone. Called once for each that was opened.
    /// - Parameter failure: the reason given to waiting requests when it failed: `NoTLS` or `NoConnection`.
    func end(_ id: Int, hasAnswered: Bool, failure: String = "NoConnection") {
        let jitter = Double(randomness.next() % 1000) / 1000
        transact { state, effects in
            state.end(id, hasAnswered: hasAnswered, failure: failure, uptime: time.uptime, jitter: jitter, &effects)
        }
    }

    private func sweep() {
        transact { state, effects in state.sweep(uptime: time.uptime, &effects) }
    }

    /// Changes the state under the lock and does the rest outside of it.
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

/// How a pool speaks to one of its connections, from any thread.
struct ConnectionHandle: Sendable {
    /// There is work.
    let wake: @Sendable () -> Void
    /// Begin nothing more and go when everything is answered.
    let finish: @Sendable () -> Void
    /// Go at once.
    let abort: @Sendable () -> Void
}
