internal import Logging
internal import PealCore

/// What the services and workers of one process share.
final class DeliveryContext: Sendable {
    let store: any Store
    let providers: [ProviderName: any Provider]
    let time: any TimeSource
    let randomness: any Randomness
    let logger: Logger
    let traces: (any TraceSink)?
    /// The name under which this process leases slices.
    let owner: String
    /// Whether no other process works on the store.
    let isOnlyProcess: Bool

    let metrics: DeliveryMetrics
    let routes = RouteBoard()
    let leases = LeaseBoard()
    let messages = MessageCache()
    let access = AccessCache()
    /// Bulk pages in flight.
    let budget: PageBudget
    /// Devices in flight in small messages to several devices.
    let directBudget: PageBudget
    let gate: any PageGate
    let rates = RateBoard()
    let health: StoreHealth
    let outages: OutageLog
    let load = DispatchLoad()
    let settler: Settler
    let stragglers = StragglerQueue()
    let direct = DirectQueue()
    let stop: StopSwitch
    /// Set when something may be due.
    let due = Signal()
    /// Set when slices may be ready.
    let ready = Signal()

    init(
        store: any Store, providers: [ProviderName: any Provider], time: any TimeSource,
        randomness: any Randomness, logger: Logger, options: DeliveryOptions
    ) {
        let store = DeliveryReads(store: store)
        self.store = store
        self.providers = providers
        metrics = DeliveryMetrics(providers)
        self.time = time
        self.randomness = randomness
        self.logger = logger
        traces = options.traces
        isOnlyProcess = options.isOnlyProcess
        owner = ServerName.unique(isPaused: options.isPaused, randomness)
        gate = options.gate ?? AppGate(store: store, time: time)
        health = StoreHealth(time: time)
        outages = OutageLog(time: time)
        stop = StopSwitch(time: time, drain: options.drain)
        settler = Settler(
            store: store, time: time, logger: logger, outages: outages, metrics: metrics, health: health, stop: stop)
        budget = PageBudget(options.pagesInFlightMax, lendable: Limits.pagesStalledMax)
        // Single devices need no slot: the number of the lanes' workers limits them.
        directBudget = PageBudget(
            Limits.directDevicesInFlightMax - Limits.directSlicesActiveMax - Limits.slicesActiveMax
                - Limits.slicesExpressMax, lendable: Limits.directDevicesStalledMax)
    }

    /// The end of a lease that is taken now.
    var leaseEnd: Timestamp { time.now + .seconds(Limits.leaseSeconds) }

    /// Begins nothing more, and wakes the services that must react.
    func beginStop() {
        stop.turnOn()
        messages.stopAll()
        for signal in [due, ready, direct.arrival, stragglers.arrival] { signal.set() }
    }

    /// Queues slices that were leased to this process at `askedAt`.
    func takeDirect(_ slices: [Slice], askedAt: Duration) {
        guard !slices.isEmpty else { return }
        // First, so that they are not taken back while they wait.
        for slice in slices { leases.add(slice.lease, askedAt: askedAt) }
        let refused = direct.put(slices, askedAt: askedAt)
        guard !refused.isEmpty else { return }
        for slice in refused { leases.remove(slice.lease) }
        logger.warning(
            "the direct lane is full; slices wait until their leases expire",
            metadata: ["slices": .stringConvertible(refused.count)])
    }

    /// Logs that a part of the engine failed; if it failed because of an outage of the store, as `OutageLog` allows.
    func logFailure(
        _ text: Logger.Message, _ error: any Error, _ metadata: Logger.Metadata = [:], level: Logger.Level = .error
    ) {
        guard outages.isDue(error) else { return }
        logger.log(level: level, text, metadata: metadata.merging(["error": "\(error)"]) { $1 })
    }
}

/// The store as the engine sees it: its reads have their own connections.
struct DeliveryReads: Store {
    let store: any Store

    /// - Parameter lane: `brief`, or else ignored: the engine reads in the lane `delivery`.
    func read<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any StoreReading) throws -> R
    ) async throws -> R {
        try await store.read(lane == .brief ? .brief : .delivery, body)
    }

    func checkedList<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any StoreReading, _ more: Int) throws -> R
    ) async throws -> (items: R, isComplete: Bool) {
        try await store.checkedList(lane, body)
    }

    func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any StoreWriting) throws -> R
    ) async throws -> R {
        try await store.write(lane, body)
    }

    func chainAudit() async throws { try await store.chainAudit() }

    var setupVersion: Int { store.setupVersion }
}
