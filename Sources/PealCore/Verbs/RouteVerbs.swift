/// Reports the state of an app's routes.
package struct RouteVerbs: Sendable {
    let store: any Store

    /// The app's way through one push network and environment.
    package struct Item: Sendable, Hashable {
        package let provider: ProviderName
        package let environment: Environment
        package var state = RouteGate.Status.open
        /// Why it is not open.
        package var reason: String?
        /// When the next probe may begin.
        package var until: Timestamp?
        package var load = RouteLoad()
    }

    /// The routes for which the app has a credential, or on which something waits, in order of name.
    package func list(app: AppKey, now: Timestamp) async throws -> [Item] {
        let (records, gates, loads) = try await store.read(.heavy) { store in
            (try store.credentialRecords(app: app), try store.gates(app: app), try store.routeLoads(app: app))
        }
        var items: [CredentialSlot: Item] = [:]
        for record in records {
            let slot = CredentialSlot(app: app, provider: record.provider, environment: record.environment)
            items[slot] = Item(slot)
        }
        for (route, load) in loads {
            guard let slot = CredentialSlot(of: ActiveRoute(app: app, route: route)) else { continue }
            items[slot, default: Item(slot)].load.add(load)
        }
        for gate in gates where gate.state != .open {
            guard let slot = CredentialSlot(of: gate.route) else { continue }
            items[slot, default: Item(slot)].take(gate, now: now)
        }
        return items.values.sorted {
            ($0.provider.rawValue, $0.environment.rawValue) < ($1.provider.rawValue, $1.environment.rawValue)
        }
    }
}

extension RouteVerbs.Item {
    fileprivate init(_ slot: CredentialSlot) { (provider, environment) = (slot.provider, slot.environment) }

    /// A network's devices and its channels have separate routes; the worse state is shown.
    fileprivate mutating func take(_ gate: RouteGate, now: Timestamp) {
        guard state == .open || gate.state == .stopped else { return }
        state = gate.status(at: now)
        reason = gate.reason.isEmpty ? nil : gate.reason
        until = gate.closedUntil
    }
}

extension RouteLoad {
    fileprivate mutating func add(_ other: RouteLoad) {
        pending += other.pending
        oldestAt = [oldestAt, other.oldestAt].compactMap { $0 }.min()
    }
}
