import PealWire

@testable import PealDevice

/// A small server: the moment's state machine of docs/states.md with the device API in front of it. Its clock is the
/// world's.
final class ModelServer: @unchecked Sendable {
    // Sendable because all state is behind the lock.
    enum State: Equatable {
        case open, claimed, sending, sent, recovering, shown, opened, dismissed, cancelled, failed
    }

    struct Row {
        var rev = 1
        var state = State.open
        var start: Int64
        var fallbackAt: Int64
        var device: String?
        var claimID: String?
        var until: Int64 = 0
        var cancelRequested = false
        /// Whether an alert was handed to the provider, or a device got the grant.
        var wasAttempted = false
        /// The revision that a device or an alert shows.
        var shownRev: Int?
    }

    struct Device {
        var hasLedger: Bool
        var seenAt: Int64 = 0
        var deviceToken: String
    }

    struct Content {
        var rows: [String: Row] = [:]
        var devices: [String: Device] = [:]
        var eventIDs: Set<String> = []
        /// Alerts for the provider: device and message.
        var alerts: [(device: String, message: String)] = []
        var now: Int64
    }

    static let claimMilliseconds: Int64 = 600_000
    let content: Locked<Content>

    init(now: Int64) { content = Locked(Content(now: now)) }

    // MARK: The author

    /// - Returns: whether the message is cancelled for certain.
    func cancel(_ id: String) -> Bool {
        content.with { content in
            switch content.rows[id]?.state {
            case .open, .cancelled:
                content.rows[id]?.state = .cancelled
                return true
            case .claimed: content.rows[id]?.cancelRequested = true
            default: break
            }
            return false
        }
    }

    func supersede(_ id: String) {
        content.with { if $0.rows[id]?.state == .open { $0.rows[id]?.rev += 1 } }
    }

    // MARK: Time

    /// Fallbacks and ended claims that are due.
    func tick() {
        content.with { content in
            for (id, row) in content.rows.sorted(by: { $0.key < $1.key }) {
                if row.state == .open, content.now >= row.fallbackAt {
                    guard
                        let target = content.devices.max(by: { ($0.value.seenAt, $0.key) < ($1.value.seenAt, $1.key) })
                    else { continue }
                    content.rows[id]?.state = .sending
                    content.rows[id]?.device = target.key
                    content.rows[id]?.wasAttempted = true
                    content.rows[id]?.shownRev = row.rev
                    content.alerts.append((target.key, id))
                } else if row.state == .claimed, content.now >= row.until, !row.cancelRequested,
                    let device = row.device, content.devices[device]?.hasLedger == true
                {
                    content.rows[id]?.state = .recovering
                    content.alerts.append((device, id))
                }
            }
        }
    }

    /// The provider accepted an alert.
    func accepted(_ id: String) {
        content.with {
            if $0.rows[id]?.state == .sending || $0.rows[id]?.state == .recovering { $0.rows[id]?.state = .sent }
        }
    }

    // MARK: The device API

    func register(_ device: String, hasLedger: Bool) -> RegistrationAnswer {
        content.with { content in
            let deviceToken = "pdt_\(device)"
            content.devices[device] = Device(
                hasLedger: hasLedger, seenAt: content.now, deviceToken: deviceToken)
            return RegistrationAnswer(
                device: device, deviceToken: deviceToken, app: "app", userID: "u",
                now: WireTime(milliseconds: content.now))
        }
    }

    func sync(_ request: SyncRequest, _ device: String) -> SyncAnswer {
        content.with { content in
            content.devices[device]?.seenAt = content.now
            for event in request.events ?? [] { store(event, device, &content) }
            var answer = SyncAnswer(now: WireTime(milliseconds: content.now))
            var messages: [OpenMessage] = []
            for (id, row) in content.rows.sorted(by: { $0.key < $1.key }) where row.state == .open {
                guard request.have.msgs[id] != row.rev else { continue }
                messages.append(
                    OpenMessage(
                        id: id, rev: row.rev, start: WireTime(milliseconds: row.start),
                        fallbackAt: WireTime(milliseconds: row.fallbackAt), content: MessageContent(body: "\(row.rev)"))
                )
            }
            answer.messages = messages
            answer.revoked = request.have.msgs.keys.filter { content.rows[$0]?.state != .open }
            return answer
        }
    }

    func claim(_ id: String, _ request: ClaimRequest, _ device: String) -> ClaimAnswer {
        content.with { content in
            content.devices[device]?.seenAt = content.now
            let now = WireTime(milliseconds: content.now)
            guard let row = content.rows[id] else { return ClaimAnswer(reason: .closed, now: now) }
            func refused(_ reason: ClaimRefusal) -> ClaimAnswer { ClaimAnswer(reason: reason, now: now) }
            let hasLedger = content.devices[device]?.hasLedger == true
            switch row.state {
            case .open:
                if request.rev != row.rev { return refused(.superseded) }
                if content.now >= row.fallbackAt { return refused(.fallback) }
                content.rows[id]?.state = .claimed
                content.rows[id]?.device = device
                content.rows[id]?.claimID = request.claimID
                content.rows[id]?.until = content.now + Self.claimMilliseconds
                content.rows[id]?.shownRev = row.rev
                content.rows[id]?.wasAttempted = true
                return ClaimAnswer(showBy: now.advanced(by: Self.claimMilliseconds), now: now)
            case .claimed:
                guard row.claimID == request.claimID, row.device == device else { return refused(.claimed) }
                if hasLedger {
                    if content.now >= row.until { return refused(.fallback) }
                    return ClaimAnswer(showBy: WireTime(milliseconds: row.until), now: now)
                }
                return ClaimAnswer(showBy: now.advanced(by: Self.claimMilliseconds), now: now)
            case .sending, .sent, .recovering: return refused(.fallback)
            case .cancelled: return refused(.cancelled)
            case .shown, .opened, .dismissed: return refused(.closed)
            case .failed: return refused(.expired)
            }
        }
    }

    func report(_ events: [DeviceEvent], _ device: String) -> EventsAnswer {
        content.with { content in
            content.devices[device]?.seenAt = content.now
            for event in events { store(event, device, &content) }
            return EventsAnswer(now: WireTime(milliseconds: content.now))
        }
    }

    private func store(_ event: DeviceEvent, _ device: String, _ content: inout Content) {
        guard content.eventIDs.insert(event.eventID).inserted, let id = event.message,
            let row = content.rows[id], row.device == device
        else { return }
        switch (event.type, row.state) {
        case (_, .open), (_, .cancelled), (_, .failed), (_, .opened), (_, .dismissed): break
        case (.shown, .shown): break
        case (.shown, _): content.rows[id]?.state = .shown
        case (.opened, _): content.rows[id]?.state = .opened
        case (.dismissed, _): content.rows[id]?.state = .dismissed
        default: break
        }
    }
}
