internal import Logging
internal import PealCore
internal import Synchronization

/// Wakes apps that may choose the moment of a message, with background pushes within each device's budget. A wake-up is
/// counted before it is sent and never repeated, so that a crash loses at most one and a device never gets too many. A
/// wake-up that cannot be sent soon is dropped, because it would be too close to the next ones. While a route still
/// awaits answers, is closed or has no credential, its devices are not woken. A wake-up that the network refuses for a
/// reason of its own does not count as unanswered.
struct Waker: Sendable {
    private static let pollInterval: Duration = .seconds(1)
    private static let sendTime: Duration = .seconds(Limits.wakeLatenessSeconds / 2)
    /// How long a round waits for answers. The answers of a slower route are awaited during the next rounds.
    private static let answerTime: Duration = .seconds(1)

    let context: DeliveryContext
    private let awaited = AwaitedRoutes()

    /// Runs until the process stops and every answer has come or is given up.
    func run() async {
        let sleeper = context.stop.sleeper()
        await withDiscardingTaskGroup { tasks in
            repeat {
                var count = Limits.wakesPerRound
                while count >= Limits.wakesPerRound, !context.stop.isOn { count = await round(&tasks) }
            } while await context.stop.pause(sleeper, atMost: Self.pollInterval)
        }
    }

    /// - Parameter limit: fewer devices than usual after a failure, to find the one that cannot be read.
    /// - Returns: how many devices were examined.
    private func round(_ tasks: inout DiscardingTaskGroup, limit: Int = Limits.wakesPerRound) async -> Int {
        let (now, randomness) = (context.time.now, context.randomness)
        let deadline = context.time.uptime + Self.sendTime
        do {
            guard let next = try await context.store.read({ try $0.nextWakeAt() }), next <= now else { return 0 }
            let (orders, count) = try await context.store.write(.rest) { [self] store in
                var hasCredential: [ActiveRoute: Bool] = [:]
                return try store.takeWakes(now: now, limit: limit, quiet: .system) { route in
                    let canSend = hasCredential[route] ?? self.hasCredential(for: route, in: store)
                    hasCredential[route] = canSend
                    return waitingTime(route, canSend)
                } jitter: {
                    let range = UInt64(2 * Limits.wakeJitterSeconds + 1)
                    return .seconds(Int64(randomness.next() % range) - Limits.wakeJitterSeconds)
                }
            }
            await send(orders, before: deadline, in: &tasks)
            return count
        } catch  where limit > 1 && !PealError.isOutage(error) {
            return await round(&tasks, limit: limit / 2)
        } catch {
            context.logFailure("due wake-ups could not be read", error)
            guard !PealError.isOutage(error) else { return 0 }
            let damaged = DamagedWork(
                store: context.store, lane: .rest, time: context.time, logger: context.logger)
            _ = await damaged.setAside("wake-up", after: error) { try $0.postponeDueWake(to: $1, now: now) }
            return 0
        }
    }

    /// How long a device waits whose route can take nothing now: shortly for earlier answers, and until the next usual
    /// wake-up while the route is closed or has no credential.
    private func waitingTime(_ route: ActiveRoute, _ hasCredential: Bool) -> Duration? {
        if awaited.isBusy(route) { return .seconds(Limits.wakeBusySeconds) }
        return isClosed(route) || !hasCredential ? .seconds(Limits.wakeIntervalSeconds) : nil
    }

    /// Whether the app has a credential for the route, and this server its network. True if the credentials cannot be
    /// read.
    private func hasCredential(for route: ActiveRoute, in store: any StoreReading) -> Bool {
        guard let provider = route.route.provider, context.providers[provider] != nil else { return false }
        let records = try? store.credentialRecords(app: route.app)
        return records?.contains { $0.isUsed(on: route.route) } ?? true
    }

    private func isClosed(_ route: ActiveRoute) -> Bool { context.routes.change(route) { $0.closedUntil != nil } }

    /// Sends to each route, and waits a moment for the answers.
    private func send(_ orders: [WakeOrder], before deadline: Duration, in tasks: inout DiscardingTaskGroup) async {
        let groups = Dictionary(grouping: orders) { ActiveRoute(app: $0.app, route: $0.device.address.route) }
        var (begun, surplus): (Set<ActiveRoute>, [WakeOrder]) = ([], [])
        for (route, orders) in groups {
            guard awaited.begin(route) else {
                surplus += orders
                continue
            }
            begun.insert(route)
            tasks.addTask {
                let untaken = await send(orders, on: route, before: deadline)
                awaited.end(route)
                await takeBack(untaken)
            }
        }
        await takeBack(surplus)
        let end = context.time.uptime + Self.answerTime
        while awaited.contains(anyOf: begun), case let rest = end - context.time.uptime, rest > .zero {
            await awaited.answered.wait(atMost: rest, on: context.time)
        }
    }

    /// If the route has been closed or the credential deleted meanwhile, the wake-up is lost.
    /// - Returns: the wake-ups that were not sent, or that the network refused for a reason of its own.
    private func send(_ orders: [WakeOrder], on route: ActiveRoute, before deadline: Duration) async -> [WakeOrder] {
        guard !isClosed(route), let slot = CredentialSlot(of: route), let provider = context.providers[slot.provider]
        else { return orders }
        do {
            guard let access = try await context.readAccess(at: slot) else { return orders }
            return await send(orders, on: route, access, provider, before: deadline)
        } catch {
            context.logFailure("a credential could not be read", error)
            return orders
        }
    }

    private func send(
        _ orders: [WakeOrder], on route: ActiveRoute, _ access: RouteAccess, _ provider: any Provider,
        before deadline: Duration
    ) async -> [WakeOrder] {
        guard context.time.uptime <= deadline else { return orders }
        let now = context.time.now
        let message: MessageID = context.randomness.timeOrderedIdentifier(at: now)
        let ordered = orders.sorted { $0.device.key < $1.device.key }
        var page = DevicePage(
            through: ordered.last?.device.key ?? 0, isLast: true, readAt: now, capacity: ordered.count)
        var (sent, notifications): ([WakeOrder], [Notification]) = ([], [])
        for order in ordered {
            guard let notification = render(order, message, on: route.route, access, provider, now: now) else {
                continue
            }
            sent.append(order)
            notifications.append(notification)
            order.device.address.bytes.withUnsafeBytes {
                page.append(key: order.device.key, address: $0, revision: 0, locale: 0)
            }
        }
        guard page.count > 0 else { return [] }
        let control = context.messages.addControl(message)
        let order = PageOrder(
            slice: Slice.ID(app: route.app, message: message, route: route.route, rangeStart: 0, part: 0),
            credential: access.credential, fingerprint: access.fingerprint, page: page, notifications: notifications,
            variants: notifications.indices.map { UInt16($0) }, lane: .direct,
            deadline: deadline, control: control)
        provider.send(order)
        await context.time.race(atMost: .seconds(Limits.requestTimeoutSeconds)) { await order.flight.wait() }
        context.messages.removeControl(control, of: message)
        let answers = order.flight.answers
        let accepted = answers.isAnswered.count { $0 } - answers.exceptions.count
        context.metrics.change {
            $0.wakesSent += page.count
            $0.wakesAccepted += accepted
        }
        return answers.exceptions.filter { !$0.value.mayBlameDevice }.map { sent[$0.key] }
    }

    private func takeBack(_ orders: [WakeOrder]) async {
        guard !orders.isEmpty else { return }
        do {
            try await context.store.write(.rest) { try $0.takeBackWakes(orders) }
        } catch {
            context.logFailure("refused wake-ups could not be taken back", error)
        }
    }

    /// nil if not even the shortest form can be rendered.
    private func render(
        _ order: WakeOrder, _ message: MessageID, on route: Route, _ access: RouteAccess, _ provider: any Provider,
        now: Timestamp
    ) -> Notification? {
        for isShort in [false, true] {
            let render = RenderOrder(
                message: message, content: order.content(isShort: isShort), options: WakeOrder.options, locale: nil,
                route: route, providerAppID: access.credential.providerAppID, expiresAt: now, now: now)
            if let notification = try? provider.render(render) { return notification }
        }
        return nil
    }
}

extension ProviderAnswer {
    /// Whether a device that does not react to a wake-up with this answer may be hard to reach: the wake-up may have
    /// arrived, or the address is at fault.
    fileprivate var mayBlameDevice: Bool {
        switch result {
        case .verdict(.accepted), .verdict(.rejectMessage), .verdict(.retireAddress), .verdict(.holdAddress), .lost:
            true
        case .verdict(.retry), .verdict(.reconnect), .verdict(.refreshCredential), .verdict(.holdApp),
            .verdict(.stopApp), .unsent, .held:
            false
        }
    }
}

/// The routes whose wake-ups have no answers yet.
private final class AwaitedRoutes: Sendable {
    private let routes = Mutex<Set<ActiveRoute>>([])
    /// Set when a route has its answers.
    let answered = Signal()

    /// Returns false if the route has older wake-ups without an answer, or too many routes have.
    func begin(_ route: ActiveRoute) -> Bool {
        routes.withLock { $0.count < Limits.wakeRoutesAwaitedMax && $0.insert(route).inserted }
    }

    /// Whether `begin` would return false.
    func isBusy(_ route: ActiveRoute) -> Bool {
        routes.withLock { $0.count >= Limits.wakeRoutesAwaitedMax || $0.contains(route) }
    }

    func end(_ route: ActiveRoute) {
        _ = routes.withLock { $0.remove(route) }
        answered.set()
    }

    func contains(anyOf others: Set<ActiveRoute>) -> Bool { routes.withLock { !$0.isDisjoint(with: others) } }
}
