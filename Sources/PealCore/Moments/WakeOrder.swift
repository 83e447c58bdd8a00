/// A wake-up push to one device: which messages are open for its user.
package struct WakeOrder: Sendable {
    package let app: AppKey
    package let device: Device
    package let number: Int64
    /// Whether the device should sync immediately.
    package let asksForSync: Bool
    package let entries: [Entry]

    package init(app: AppKey, device: Device, number: Int64, asksForSync: Bool, entries: [Entry]) {
        self.app = app
        self.device = device
        self.number = number
        self.asksForSync = asksForSync
        self.entries = entries
    }

    package struct Entry: Sendable, Hashable {
        package let message: MessageID
        package let rev: Int64
        package let campaignID: String?
        package let fallbackAt: Timestamp

        package init(message: MessageID, rev: Int64, campaignID: String?, fallbackAt: Timestamp) {
            self.message = message
            self.rev = rev
            self.campaignID = campaignID
            self.fallbackAt = fallbackAt
        }

        fileprivate var json: JSON {
            let id = JSON.string(message.description)
            return .array([id, .integer(rev), .string(campaignID ?? ""), .integer(fallbackAt.milliseconds)])
        }
    }

    /// The content of the push.
    /// - Parameter isShort: whether to name no message and to ask for a sync instead, because the entries do not fit.
    package func content(isShort: Bool = false) -> Content {
        let named = isShort ? [] : entries.prefix(Limits.wakeMessagesMax)
        var content = Content()
        content.data["w"] = .integer(number)
        if asksForSync || isShort { content.data["a"] = 1 }
        content.data["m"] = .array(named.map(\.json))
        return content
    }

    /// Never stored for a device that is offline: it would replace a stored alert.
    package static let options: MessageOptions = {
        var options = MessageOptions()
        options.isBackground = true
        options.priority = .normal
        options.life = .seconds(0)
        options.collapseKey = "w"
        return options
    }()
}

extension StoreWriting {
    /// Takes the devices that are due for a wake-up push, and charges it to their budgets. A device without a claimable
    /// message is skipped until it gets one, a device in quiet hours until they end, and a device whose route takes
    /// nothing for as long as `wait` says.
    /// - Parameters:
    ///   - wait: how long devices of a route wait because nothing can be sent on it now; nil if something can.
    ///   - jitter: for each device.
    /// - Returns: the pushes to send now, and how many devices were examined.
    package func takeWakes(
        now: Timestamp, limit: Int, quiet: QuietClock, wait: (ActiveRoute) -> Duration? = { _ in nil },
        jitter: () -> Duration
    ) throws -> (orders: [WakeOrder], count: Int) {
        let due = try dueInstallations(now: now, limit: limit)
        var orders: [WakeOrder] = []
        var rules: [AppKey: SendRules?] = [:]
        func quietEnd(_ app: AppKey, _ device: Device) throws -> Timestamp? {
            if rules[app] == nil { rules[app] = .some(try self.app(key: app)?.settings.rules) }
            return rules[app]?.flatMap { quiet.end(of: $0, zone: device.timeZone, at: now) }
        }
        for var installation in due {
            installation.recordMissingSync(at: now)
            let device = try device(app: installation.app, key: installation.device)
            if let device { try classify(&installation, of: device, at: now) }
            if let device,
                let order = try order(
                    &installation, device, quietEnd: quietEnd, wait: wait, now: now, jitter: jitter)
            {
                orders.append(order)
            }
            try putInstallation(installation)
        }
        return (orders, due.count)
    }

    /// Takes back wake-ups that did not reach the push network, or that it refused for a reason of its own: they say
    /// nothing about how well their devices can be reached. Their budgets remain charged.
    package func takeBackWakes(_ orders: [WakeOrder]) throws {
        for order in orders {
            guard var installation = try installation(app: order.app, device: order.device.key),
                installation.wakes.takeBack(order.number)
            else { continue }
            try putInstallation(installation)
        }
    }

    private func order(
        _ installation: inout Installation, _ device: Device, quietEnd: (AppKey, Device) throws -> Timestamp?,
        wait: (ActiveRoute) -> Duration?, now: Timestamp, jitter: () -> Duration
    ) throws -> WakeOrder? {
        installation.wakes.dueAt = nil
        let route = device.address.route
        guard let user = device.userID, device.retirement == nil, route.wakesApps,
            installation.capabilities.choosesMoments
        else { return nil }
        guard let entries = try entries(of: user, on: route, app: installation.app, now: now) else { return nil }
        let earliest = max(installation.wakes.allowed(at: now), try quietEnd(installation.app, device) ?? now)
        guard earliest <= now else {
            installation.wakes.dueAt = earliest
            return nil
        }
        // Before the budget is spent: a wake-up that cannot be sent would count against the device's reachability.
        if let pause = wait(ActiveRoute(app: installation.app, route: route)) {
            installation.wakes.dueAt = now + pause
            return nil
        }
        let isSilent = installation.wakes.number - installation.wakes.countedThrough >= Limits.wakesUncountedMax
        let asks = installation.classification != .available || isSilent
        installation.wakes.take(asking: asks, at: now, jitter: jitter())
        return WakeOrder(
            app: installation.app, device: device, number: installation.wakes.number, asksForSync: asks,
            entries: entries)
    }

    /// The user's open messages on the route; nil if a device could claim none of them.
    private func entries(
        of user: String, on route: Route, app: AppKey, now: Timestamp
    ) throws -> [WakeOrder.Entry]? {
        var entries: [WakeOrder.Entry] = []
        var isWanted = false
        for moment in try openMoments(app: app, userID: user, after: nil, limit: Limits.wakeMessagesMax * 2) {
            guard try momentRoutes(app: app, message: moment.message).contains(route),
                let message = try message(app: app, id: moment.message)
            else { continue }
            if moment.isClaimable, moment.fallbackAt > now { isWanted = true }
            entries.append(
                .init(
                    message: moment.message, rev: moment.rev, campaignID: message.campaignID,
                    fallbackAt: moment.fallbackAt))
        }
        return isWanted ? entries : nil
    }
}
