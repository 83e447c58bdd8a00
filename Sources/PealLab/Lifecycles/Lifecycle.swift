import PealCore

/// One message to one user with one or two phones.
struct Lifecycle: Sendable {
    let message: MessageID
    let user: String
    var phones: [LifecyclePhone]
    var packets: [LifecyclePacket] = []
    /// The author's latest revision.
    var rev: Int64 = 1
    var isCancelled = false
    /// Whether a late cancellation was refused. If so, the server does not repeat the alert.
    var hasLateCancel = false
    /// Whether the server gave the message to a device that can show it.
    var isAttempted = false
    var alertCount = 0
    var totals = LifecycleTotals()

    /// The phone displays the message.
    mutating func show(_ rev: Int64, isSilent: Bool) {
        if !isSilent { alertCount += 1 }
        isAttempted = true
        if isCancelled { totals.shownAfterCancel += 1 }
        if rev < self.rev { totals.outdated += 1 }
        if alertCount == 2, !isSilent { totals.doubled += 1 }
    }

    mutating func note(_ what: String) { totals.seen[what, default: 0] += 1 }
}

/// A phone as the protocol sees it: the ledger of docs/states.md, and the screen.
struct LifecyclePhone: Sendable {
    enum Stage: Sendable, Equatable {
        case unaware, held, asked, intent, shown, gone
    }

    let device: DeviceKey
    /// Whether app and extension share the ledger.
    let hasLedger: Bool
    /// What the phone adds to the server's time, in seconds.
    let skew: Int64
    /// Whether the message's user uses it.
    var isTheirs = true
    var stage = Stage.unaware
    var rev: Int64 = 0
    var claim = ClaimID(high: 0, low: 0)
    var isOnScreen = false
    /// Events that were not confirmed.
    var outbox: [DeviceEvent] = []
}

/// Something on its way between a phone and the server.
struct LifecyclePacket: Sendable {
    enum Content: Sendable {
        case claim(ClaimID, rev: Int64)
        case grant(ClaimID, showBy: Timestamp)
        case denial(ClaimID, MomentClaim.Refusal)
        case events([DeviceEvent])
        case receipt([Identifier<DeviceEvent>])
        case alert(rev: Int64)
    }

    let phone: Int
    let content: Content
    /// The step in which it arrives.
    let step: Int
}

/// The behaviour of phones according to docs/api/device.md.
extension Lifecycle {
    /// Packets may be lost, late or duplicated.
    mutating func send(
        _ content: LifecyclePacket.Content, _ phone: Int, at step: Int, _ dice: inout Dice,
        doubles: Bool = true
    ) {
        if dice.happens(0.2) { return note("packets lost") }
        let copies = doubles && dice.happens(0.1) ? 2 : 1
        if copies == 2 { note("packets doubled") }
        for _ in 0..<copies {
            packets.append(LifecyclePacket(phone: phone, content: content, step: step + dice.next(below: 4)))
        }
    }

    /// The app runs for a moment.
    /// - Parameter sync: what a sync finds; nil if it did not reach the server.
    mutating func wake(
        _ index: Int, sync: SyncResult?, step: Int, now: Timestamp, _ dice: inout Dice
    ) {
        var phone = phones[index]
        defer { phones[index] = phone }
        guard phone.isTheirs else { return }
        if let sync {
            if let open = sync.messages.first(where: { $0.moment.message == message }) {
                // A higher revision ends a claim that was not granted.
                if [.unaware, .held, .gone].contains(phone.stage) || phone.stage == .asked {
                    (phone.stage, phone.rev) = (.held, open.moment.rev)
                }
            } else if sync.revoked.contains(message), phone.stage == .held {
                phone.stage = .gone
            }
        }
        switch phone.stage {
        case .held:
            guard dice.happens(0.5) else { break }
            phone.stage = .asked
            phone.claim = dice.id()
            send(.claim(phone.claim, rev: phone.rev), index, at: step, &dice)
        case .asked: send(.claim(phone.claim, rev: phone.rev), index, at: step, &dice)
        case .intent:
            // After a crash: a message that is on the screen was shown; any other is claimed again and shown without
            // sound.
            note("crashes in intent")
            if phone.isOnScreen {
                phone.stage = .shown
                report(.shown, &phone, now, &dice)
            } else {
                phone.stage = .asked
                send(.claim(phone.claim, rev: phone.rev), index, at: step, &dice)
            }
        case .shown:
            if dice.happens(0.2) { report(dice.happens(0.5) ? .opened : .dismissed, &phone, now, &dice) }
        case .unaware, .gone: break
        }
        if !phone.outbox.isEmpty { send(.events(phone.outbox.shuffled(&dice)), index, at: step, &dice) }
    }

    private mutating func report(
        _ kind: DeviceEvent.Kind, _ phone: inout LifecyclePhone, _ now: Timestamp, _ dice: inout Dice
    ) {
        phone.outbox.append(DeviceEvent(id: dice.id(), kind: kind, message: message, at: now + .seconds(phone.skew)))
    }

    mutating func receive(
        _ packet: LifecyclePacket, step: Int, now: Timestamp, _ dice: inout Dice
    ) {
        var phone = phones[packet.phone]
        defer { phones[packet.phone] = phone }
        switch packet.content {
        case .grant(let claim, let showBy):
            guard phone.stage == .asked, phone.claim == claim, phone.isTheirs, now + .seconds(phone.skew) < showBy
            else { return }
            phone.stage = .intent
            if dice.happens(0.1) { return note("crashes before the display") }
            let wasShown = phone.isOnScreen
            phone.isOnScreen = true
            show(phone.rev, isSilent: wasShown)
            if dice.happens(0.1) { return note("crashes after the display") }
            phone.stage = .shown
            report(.shown, &phone, now, &dice)
        case .denial(let claim, let reason):
            guard phone.stage == .asked, phone.claim == claim else { return }
            phone.stage = reason == .superseded ? .held : .gone
        case .receipt(let ids): phone.outbox.removeAll { ids.contains($0.id) }
        case .alert(let rev):
            note("alerts")
            if !phone.isTheirs { note("alerts to a phone that changed hands") }
            let isKnown = phone.hasLedger && (phone.stage == .shown || phone.isOnScreen)
            show(rev, isSilent: isKnown)
            phone.isOnScreen = true
            guard phone.hasLedger || phone.isTheirs else { return }
            phone.stage = .shown
            report(.shown, &phone, now, &dice)
        case .claim, .events: break
        }
    }
}

extension Array {
    fileprivate func shuffled(_ dice: inout Dice) -> [Element] {
        var elements = self
        for index in elements.indices.dropFirst().reversed() { elements.swapAt(index, dice.next(below: index + 1)) }
        return elements
    }
}
