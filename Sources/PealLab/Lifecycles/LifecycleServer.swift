import PealCore

/// The server's part of one step, in one transaction of the real store.
struct LifecycleServer {
    let store: any StoreWriting
    let app: AppKey
    let now: Timestamp

    /// Receives and sends what the server exchanges about one message.
    mutating func pass(
        _ life: inout Lifecycle, step: Int, isCalm: Bool, _ dice: inout Dice
    ) throws {
        let due = life.packets.filter { $0.step <= step }
        life.packets.removeAll { $0.step <= step }
        for packet in due {
            switch packet.content {
            case .claim(let id, let rev): try claim(id, rev, packet.phone, &life, step, &dice)
            case .events(let events): try record(events, packet.phone, &life, step, &dice)
            case .grant, .denial, .receipt, .alert: life.receive(packet, step: step, now: now, &dice)
            }
        }
        for index in life.phones.indices where dice.happens(isCalm ? 1 : 0.5) {
            let sync = dice.happens(0.7) ? try self.sync(life.phones[index], life) : nil
            life.wake(index, sync: sync, step: step, now: now, &dice)
        }
        guard !isCalm else { return }
        try author(&life, &dice)
        try changeHands(&life, &dice)
    }

    private func device(_ phone: LifecyclePhone) throws -> Device? { try store.device(app: app, key: phone.device) }

    private func sync(_ phone: LifecyclePhone, _ life: Lifecycle) throws -> SyncResult? {
        guard let device = try device(phone) else { return nil }
        var sync = DeviceSync()
        if phone.stage != .unaware { sync.held = [life.message: phone.rev] }
        return try MomentReader(store: store, device: device, app: app).open(sync)
    }

    private func claim(
        _ id: ClaimID, _ rev: Int64, _ index: Int, _ life: inout Lifecycle, _ step: Int, _ dice: inout Dice
    ) throws {
        let phone = life.phones[index]
        guard let device = try device(phone),
            let moment = try MomentReader(store: store, device: device, app: app).moment(life.message)
        else { return life.send(.denial(id, .closed), index, at: step, &dice) }
        let claim = MomentClaim(
            id: id, target: .init(device: phone.device, route: device.address.route), rev: rev,
            hasLedger: phone.hasLedger)
        let taken = try store.apply(.claim(claim), to: moment, now: now)
        let refusal = taken?.refusal ?? .claimed
        guard let taken, taken.refusal == nil, let until = taken.moment.claim?.until else {
            life.note("claims refused")
            return life.send(.denial(id, refusal), index, at: step, &dice)
        }
        life.note("claims granted")
        // Without a ledger, the message waits for this phone only.
        if !phone.hasLedger { life.isAttempted = true }
        life.send(.grant(id, showBy: until), index, at: step, &dice)
    }

    private func record(
        _ events: [DeviceEvent], _ index: Int, _ life: inout Lifecycle, _ step: Int, _ dice: inout Dice
    ) throws {
        guard let device = try device(life.phones[index]) else { return }
        _ = try MomentReader(store: store, device: device, app: app).record(events, in: store, now: now)
        life.send(.receipt(events.map(\.id)), index, at: step, &dice)
    }

    /// The author cancels or replaces.
    private func author(_ life: inout Lifecycle, _ dice: inout Dice) throws {
        if !life.isCancelled, dice.happens(0.03) {
            if try store.cancelMoments(app: app, message: life.message, now: now) > 0 {
                life.isCancelled = true
                life.note("cancelled")
            } else {
                life.hasLateCancel = true
                life.note("cancelled too late")
            }
        }
        guard !life.isCancelled, dice.happens(0.03), var draft = try store.draft(app: app, id: life.message),
            let until = draft.window?.until
        else { return }
        draft.createdAt = now
        draft.window = DeliveryWindow(until: until, method: .contextAware)
        guard until > now, try store.message(app: app, id: life.message)?.state == .scheduled else { return }
        if try store.replaceDraft(draft, now: now) {
            life.rev += 1
            life.note("replaced")
        }
    }

    /// Another person signs in on a phone.
    private func changeHands(_ life: inout Lifecycle, _ dice: inout Dice) throws {
        guard dice.happens(0.005) else { return }
        let index = dice.next(below: life.phones.count)
        guard let device = try device(life.phones[index]), life.phones[index].isTheirs else { return }
        life.phones[index].isTheirs = false
        life.note("phones that changed hands")
        var registration = DeviceRegistration(id: device.id, address: device.address, userID: "other \(device.id)")
        registration.detail = device.detail
        _ = try store.register(registration, app: app, now: now)
    }

    /// Fallbacks, recoveries and the sending of alerts.
    mutating func work(_ lives: inout [Lifecycle], step: Int, _ dice: inout Dice) throws {
        while try store.fireDueMoments(now: now, limit: 500, quiet: .none) >= 500 {}
        while try store.endDueClaims(now: now, limit: 500) >= 500 {}
        let indices = Dictionary(uniqueKeysWithValues: lives.indices.map { (lives[$0].message, $0) })
        let route = ActiveRoute(app: app, route: .apnsProduction)
        while true {
            let slices = try store.lease(route, limit: 500, owner: "lab", until: now + .seconds(30), now: now)
            guard !slices.isEmpty else { return }
            for slice in slices {
                let page = try store.page(
                    of: slice, candidates: try store.candidates(of: slice, now: now), after: slice.cursor, limit: 100,
                    now: now)
                if let index = indices[slice.id.message] { try alert(page.keys, &lives[index], step, &dice) }
                _ = try store.settle([settlement(slice, page)], now: now)
            }
        }
    }

    private func alert(
        _ keys: [DeviceKey], _ life: inout Lifecycle, _ step: Int, _ dice: inout Dice
    ) throws {
        for key in keys {
            guard let index = life.phones.firstIndex(where: { $0.device == key }) else { continue }
            life.isAttempted = true
            if !life.phones[index].isTheirs { life.totals.leaked += 1 }
            // A push that arrives twice has the same id: without a ledger the system itself replaces it.
            life.send(.alert(rev: life.rev), index, at: step, &dice, doubles: life.phones[index].hasLedger)
        }
    }

    private func settlement(_ slice: Slice, _ page: DevicePage) -> Settlement {
        var counts = slice.counts
        counts.count(.accepted, page.count)
        let entries = page.keys.map { DeliveryLogEntry(key: $0, outcome: .accepted, reason: "", attempt: 1) }
        let row = Settlement.LogRow(
            firstKey: page.keys.first ?? 0, lastKey: page.keys.last ?? 0, deviceCount: page.count, sentAt: now,
            tookMilliseconds: 1, data: DeliveryLog.encode(entries))
        var settlement = Settlement(
            of: slice, by: "lab", to: page.through, counts: counts, logRow: page.count == 0 ? nil : row,
            next: page.isLast ? .done : .release(readyAt: nil))
        settlement.alerts = entries
        return settlement
    }
}
