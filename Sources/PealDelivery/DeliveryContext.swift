internal import Logging
internal import PealCore
internal import Synchronization

/// What the services of one process share.
final class DeliveryContext: Sendable {
    let store: any Store
    let providers: [ProviderName: any Provider]
    let time: any TimeSource
    let randomness: any Randomness
    let logger: Logger
    let options: DeliveryOptions
    let owner: String

    let metrics = DeliveryMetrics()
    let routes = RouteBoard()
    let leases = LeaseBoard()
    let messages = MessageCache()
    let access = AccessCache()
    let budget: PageBudget
    let load = DispatchLoad()
    let settler: Settler
    let latecomers = LatecomerQueue()
    let direct = DirectQueue()
    let stop: StopSwitch
    /// Something may be due.
    let due = Signal()
    /// Slices may be ready.
    let ready = Signal()
    /// When leases of an earlier run were taken back; nil before.
    private let startedAt = Mutex<Duration?>(nil)
    private let sleepers = Mutex<[Signal]>([])
    private let reopened = Mutex<Set<ActiveRoute>>([])

    init(
        store: any Store, providers: [ProviderName: any Provider], time: any TimeSource,
        randomness: any Randomness, logger: Logger, options: DeliveryOptions
    ) {
        self.store = store
        self.providers = providers
        self.time = time
        self.randomness = randomness
        self.logger = logger
        self.options = options
        owner = "peal-" + Hex.encode(randomness.bytes(8))
        settler = Settler(store: store, time: time, logger: logger, metrics: metrics)
        stop = StopSwitch(drain: options.drain)
        budget = PageBudget(options.pagesInFlightMax, lendable: Limits.pagesStillMax)
    }

    /// A route whose credential changed: what waited only for it may go on.
    func reopen(_ route: ActiveRoute) { _ = reopened.withLock { $0.insert(route) } }

    func takeReopened() -> Set<ActiveRoute> {
        reopened.withLock { routes in
            defer { routes = [] }
            return routes
        }
    }

    /// When a lease that is taken now ends.
    var leaseEnd: Timestamp { time.now + .seconds(Limits.leaseSeconds) }

    /// Wakes `sleeper` when the process stops.
    func onStop(_ sleeper: Signal) {
        sleepers.withLock { $0.append(sleeper) }
        if stop.isOn { sleeper.set() }
    }

    /// Says that every lease from before now may have been taken back.
    func noteStart() { startedAt.withLock { $0 = time.uptime } }

    /// Whether a lease asked for at `askedAt` may have been taken back by this process's own start.
    func isFromBeforeStart(_ askedAt: Duration) -> Bool {
        startedAt.withLock { $0.map { askedAt <= $0 } ?? true }
    }

    /// Begins nothing more, and wakes everybody who should know.
    func beginStop() {
        stop.turnOn(at: time.uptime)
        messages.stopAll()
        for signal in [due, ready, direct.arrival, latecomers.arrival] { signal.set() }
        for sleeper in sleepers.withLock({ $0 }) { sleeper.set() }
    }

    /// Queues slices that were leased to this process at `askedAt`.
    func takeDirect(_ slices: [Slice], askedAt: Duration) {
        let left = slices.isEmpty ? 0 : direct.put(slices, askedAt: askedAt)
        guard left > 0 else { return }
        logger.warning("the direct lane is full: slices wait for their leases to end", metadata: ["slices": "\(left)"])
    }

    /// Sleeps between two rounds of a service, at most until the process stops. Returns whether to go on.
    func pause(_ signal: Signal, atMost duration: Duration) async -> Bool {
        guard !stop.isOn else { return false }
        await signal.wait(atMost: duration, on: time)
        return !stop.isOn
    }
}
