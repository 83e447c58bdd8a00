package import Logging
package import PealCore
internal import ServiceLifecycle
internal import Synchronization

/// The delivery engine of one process: receives due messages from the store, and hands their devices page by page to
/// the providers until every one of them has its outcome in the log.
///
/// It holds no truth. Killed at any instant, it loses nothing: what was in flight is sent again, at most
/// `DeliveryOptions.pagesInFlightMax` pages of `Limits.pageDevicesMax` devices and the direct messages on the wire.
package final class DeliveryService: DeliveryEngine, Service {
    private let context: DeliveryContext
    private let running = Atomic(false)

    /// - Parameters:
    ///   - providers: Devices of other networks end as `suppressed`, `NoProvider`.
    ///   - randomness: Names this process and its list slices, and spreads retries.
    package init(
        store: any Store, providers: [ProviderName: any Provider], time: any TimeSource, randomness: any Randomness,
        logger: Logger = Logger(label: "peal.delivery"), options: DeliveryOptions = .init()
    ) {
        context = DeliveryContext(
            store: store, providers: providers, time: time, randomness: randomness, logger: logger, options: options)
    }

    package var owner: String { context.owner }
    package var metrics: DeliveryMetrics { context.metrics }
    /// Whether the services are at work.
    package var isRunning: Bool { running.load(ordering: .relaxed) }

    /// Works until the calling task is cancelled or a graceful shutdown begins; then it begins nothing more, awaits the
    /// answers to what is on the wire for at most `DeliveryOptions.drain`, settles them and gives its leases back.
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
        await Rescuer(context: context).start()
        running.store(true, ordering: .relaxed)
        defer { running.store(false, ordering: .relaxed) }
        await withTaskGroup(of: Void.self) { outer in
            outer.addTask { await self.context.settler.run() }
            outer.addTask { await Heartbeat(context: self.context).run() }
            await self.serveUntilStopped()
            self.context.settler.close()
            outer.cancelAll()
        }
    }

    /// What brings settlements: first the workers end, then nobody brings stragglers any more.
    private func serveUntilStopped() async {
        await withDiscardingTaskGroup { late in
            late.addTask { await LatecomerService(context: self.context).run() }
            await withDiscardingTaskGroup { inner in
                inner.addTask { await Scheduler(context: self.context).run() }
                inner.addTask { await Rescuer(context: self.context).run() }
                inner.addTask { await Pruner(context: self.context).run() }
                inner.addTask { await CredentialWatch(context: self.context).run() }
                inner.addTask { await Dispatcher(context: self.context).run() }
                inner.addTask { await DirectLane(context: self.context).run() }
            }
            self.context.latecomers.close()
        }
    }

    package func take(_ slices: [Slice]) {
        context.takeDirect(slices, askedAt: context.time.uptime - .seconds(2))
    }

    package func wake() {
        context.due.set()
        context.ready.set()
    }

    package func interrupt(_ message: MessageID) {
        context.messages.interrupt(message)
        wake()
    }

    package func credentialsChanged(app: AppKey, provider: ProviderName, environment: Environment) {
        let key = AccessCache.Key(app: app, provider: provider, environment: environment)
        let fingerprint = context.access.forget(key)
        for route in Route.allCases where route.provider == provider && route.environment == environment {
            context.routes.reset(ActiveRoute(app: app, route: route))
            context.reopen(ActiveRoute(app: app, route: route))
        }
        if let fingerprint { context.providers[provider]?.drain(fingerprint: fingerprint) }
        wake()
    }
}

/// How a process delivers. The defaults are those of one process on its own database.
package struct DeliveryOptions: Sendable {
    /// Whether no other process can hold a lease, so that a start takes back all of them at once.
    package var isOnlyProcess = true
    /// Pages in flight at once: memory, and what may be sent twice after a crash.
    package var pagesInFlightMax = Limits.pagesInFlightMax
    /// How often work is looked for that nobody told of. At least a second.
    package var pollInterval: Duration = .seconds(1)
    /// How long a stop waits for answers to requests on the wire.
    package var drain: Duration = .seconds(Limits.drainSeconds)

    package init() {}
}

/// Says since when the process is stopping. One way.
final class StopSwitch: Sendable {
    private let stoppedAt = Mutex<Duration?>(nil)
    private let drain: Duration

    init(drain: Duration) { self.drain = drain }

    var isOn: Bool { stoppedAt.withLock { $0 != nil } }

    func turnOn(at now: Duration) {
        stoppedAt.withLock { $0 = $0 ?? now }
    }

    /// Whether answers are no longer waited for.
    func isDrained(at now: Duration) -> Bool {
        stoppedAt.withLock { $0.map { now >= $0 + drain } ?? false }
    }
}
