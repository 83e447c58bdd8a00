package import Logging
package import PealCore
internal import ServiceLifecycle
internal import Synchronization

/// The delivery engine of one process: receives due messages from the store, and hands their devices to the providers
/// page by page until every device has its outcome in the log.
///
/// It has no state of its own that must survive. If the process is killed, nothing is lost: what was in flight is sent
/// again. `docs/states.md` states how many devices this can be.
package final class DeliveryService: DeliveryEngine, Service {
    private let context: DeliveryContext
    private let options: DeliveryOptions
    private let running = Atomic(false)

    /// - Parameters:
    ///   - providers: Devices of other networks end as `suppressed` with `NoProvider`.
    ///   - randomness: Names this process and its list slices, and spreads retries.
    package init(
        store: any Store, providers: [ProviderName: any Provider], time: any TimeSource, randomness: any Randomness,
        logger: Logger = Logger(label: "peal.delivery"), options: DeliveryOptions = .init()
    ) {
        self.options = options
        context = DeliveryContext(
            store: store, providers: providers, time: time, randomness: randomness, logger: logger, options: options)
    }

    package var owner: String { context.owner }
    package var leaseOffer: LeaseOffer? {
        guard !options.isPaused, context.direct.hasRoom else { return nil }
        return LeaseOffer(
            owner: context.owner, interruptions: context.messages.interruptions, leaseUntil: context.leaseEnd,
            madeAt: context.time.uptime)
    }
    package var metrics: DeliveryMetrics { context.metrics }
    /// Whether the services are running.
    package var isRunning: Bool { running.load(ordering: .relaxed) }
    /// Why the store cannot be relied on: it refuses writes, or has written nothing recently. nil while it accepts
    /// writes.
    package var storeFailure: String? { context.health.failure }

    /// Runs until the calling task is cancelled or a graceful shutdown begins. Then it begins no more pages, waits at
    /// most `DeliveryOptions.drain` for answers to requests on the wire, settles them and releases its leases.
    package func run() async {
        // Unstructured because a cancelled caller must not cancel workers that still have answers to settle.
        let work = Task { await self.serve() }
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await work.value
            } onGracefulShutdown: {
                self.context.beginStop()
            }
        } onCancel: {
            self.context.beginStop()
        }
    }

    private func serve() async {
        guard !options.isPaused else { return await stayPaused() }
        let rescuer = Rescuer(context: context)
        await rescuer.start()
        await RouteKeeper(context: context).start()
        // Before anything is sent, because this server's share of a limit may be smaller than the whole limit.
        if !options.isOnlyProcess { await ServerPresence(context: context).note() }
        running.store(true, ordering: .relaxed)
        defer { running.store(false, ordering: .relaxed) }
        await withTaskGroup(of: Void.self) { outer in
            outer.addTask(executorPreference: self.options.directExecutor) { await self.context.settler.run() }
            outer.addTask { await Heartbeat(context: self.context).run() }
            await self.serveUntilStopped(rescuer)
            self.context.settler.close()
            outer.cancelAll()
        }
    }

    /// Leaves everything in the store as it is: nothing is planned, sent, expired or pruned.
    private func stayPaused() async {
        running.store(true, ordering: .relaxed)
        defer { running.store(false, ordering: .relaxed) }
        // Commands that must not run beside a server look for those on the database.
        if !options.isOnlyProcess {
            await ServerPresence(context: context).note()
            return await ServerPresence(context: context).run()
        }
        let sleeper = context.stop.sleeper()
        while await context.stop.pause(sleeper, atMost: .seconds(3600)) {}
    }

    /// Runs everything that settles: the workers end first, so that no stragglers are added afterwards.
    private func serveUntilStopped(_ rescuer: Rescuer) async {
        let poll = options.pollInterval
        await withDiscardingTaskGroup { late in
            late.addTask { await StragglerService(context: self.context).run() }
            await withDiscardingTaskGroup { inner in
                inner.addTask { await Scheduler(context: self.context, pollInterval: poll).run() }
                inner.addTask { await rescuer.run() }
                inner.addTask { await RouteKeeper(context: self.context).run() }
                inner.addTask { await Pruner(context: self.context).run() }
                inner.addTask { await CredentialWatch(context: self.context).run() }
                inner.addTask { await Waker(context: self.context).run() }
                if !self.options.isOnlyProcess {
                    inner.addTask { await ServerPresence(context: self.context).run() }
                }
                inner.addTask { await Dispatcher(context: self.context, pollInterval: poll).run() }
                inner.addTask(executorPreference: self.options.directExecutor) {
                    await DirectLane(context: self.context).run()
                }
            }
            self.context.stragglers.close()
        }
    }

    package func take(_ slices: [Slice], of job: DeliveryJob, under offer: LeaseOffer) {
        // The workers need not read again what was just written.
        _ = context.messages.keep(job, readAt: context.time.uptime, readAfter: offer.interruptions)
        context.takeDirect(slices, askedAt: offer.madeAt)
    }

    package func wake() {
        context.due.set()
        context.ready.set()
    }

    package func interrupt(_ message: MessageID) {
        context.messages.interrupt(message)
        wake()
    }

    /// Reads every message, credential, rule and gate again, after announcements may have been missed.
    package func rereadAll() {
        context.gate.forget()
        context.messages.interruptAll()
        context.access.forgetAll()
        context.routes.rereadAll()
        wake()
    }

    package func credentialsChanged(at slot: CredentialSlot) {
        let fingerprint = context.access.forget(slot)
        for route in slot.routes { context.routes.reset(route) }
        if let fingerprint { context.providers[slot.provider]?.drain(fingerprint: fingerprint) }
        wake()
    }
}

/// How a process delivers. The defaults are those of one process on its own database.
package struct DeliveryOptions: Sendable {
    /// Whether no other process can hold a lease, so that all leases are taken back at the start.
    package var isOnlyProcess = true
    /// Whether messages are accepted but not sent.
    package var isPaused = false
    /// Pages in flight at once. It bounds memory, and what may be sent twice after a crash.
    package var pagesInFlightMax = Limits.pagesInFlightMax
    /// How often the store is polled for work that no signal announced. At least a second.
    package var pollInterval: Duration = .seconds(1)
    /// How long the engine waits for answers to requests on the wire when it stops.
    package var drain: Duration = .seconds(Limits.drainSeconds)
    /// Where the spans of messages go; nil without tracing.
    package var traces: (any TraceSink)?
    /// Runs the tasks that send small messages and settle results, ideally on an event loop that sends. nil means the
    /// concurrency pool.
    package var directExecutor: (any TaskExecutor)?
    /// Decides which devices of a page are sent to now; nil applies the rules of apps and messages.
    var gate: (any PageGate)?

    package init() {}
}

/// Stops the process's services permanently, and wakes those that sleep.
final class StopSwitch: Sendable {
    private struct State {
        var stoppedAt: Duration?
        var sleepers: [Signal] = []
    }

    private let time: any TimeSource
    private let drain: Duration
    private let state = Mutex(State())

    init(time: any TimeSource, drain: Duration) {
        self.time = time
        self.drain = drain
    }

    var isOn: Bool { state.withLock { $0.stoppedAt != nil } }

    func turnOn() {
        let now = time.uptime
        let sleepers = state.withLock { state in
            state.stoppedAt = state.stoppedAt ?? now
            return state.sleepers
        }
        for sleeper in sleepers { sleeper.set() }
    }

    /// Whether answers are no longer waited for.
    func isDrained(at now: Duration) -> Bool {
        state.withLock { $0.stoppedAt.map { now >= $0 + drain } ?? false }
    }

    /// A signal for a service that sleeps between rounds: set when the process stops.
    func sleeper() -> Signal {
        let sleeper = Signal()
        let isOn = state.withLock { state in
            state.sleepers.append(sleeper)
            return state.stoppedAt != nil
        }
        if isOn { sleeper.set() }
        return sleeper
    }

    /// Sleeps until `signal` is set, at most `duration`.
    /// - Returns: Whether to continue: false when the process stops.
    func pause(_ signal: Signal, atMost duration: Duration) async -> Bool {
        guard !isOn else { return false }
        await signal.wait(atMost: duration, on: time)
        return !isOn
    }
}
