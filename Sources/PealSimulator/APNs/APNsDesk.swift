import Synchronization

/// One listener's desk: takes a whole request, has it judged, lets the faults at it, keeps the books, and says what to
/// answer. The handlers of the connections only carry its replies out.
final class APNsDesk: Sendable {
    let environment: PushEnvironment
    let inbox: Inbox
    let faults: FaultPlan
    let clock: SimulatorClock
    private let judge: APNsJudge
    private let random: Mutex<SeededRandom>

    init(
        environment: PushEnvironment, keys: KeyRing, marks: DeviceMarks, inbox: Inbox, faults: FaultPlan,
        clock: SimulatorClock, seed: UInt64
    ) {
        self.environment = environment
        self.inbox = inbox
        self.faults = faults
        self.clock = clock
        judge = APNsJudge(environment: environment, keys: keys, marks: marks)
        random = Mutex(SeededRandom(seed: seed))
    }

    /// Judges `request` on the connection of `memory` and gives what to do about it.
    func receive(_ request: APNsRequest, memory: inout ConnectionMemory) -> APNsReply {
        let judgement = judge.judge(request, memory: &memory, nowSeconds: clock.seconds)
        let apnsID = request.value("apns-id").flatMap { APNsJudge.isUUID($0) ? $0 : nil } ?? newID()
        switch judgement {
        case .refused(let reason):
            inbox.refuse(reason.rawValue)
            return reply(.answer(status: reason.status, reason: reason.rawValue, timestamp: nil), apnsID)
        case .accepted(let device):
            guard let fault = faults.decide(device: device, environment: environment) else {
                deliver(request, device, apnsID)
                return reply(.pass, apnsID)
            }
            return settle(fault, request, device, apnsID)
        }
    }

    /// A new UUID for an answer.
    func newID() -> String {
        random.withLock { $0.uuid() }
    }

    /// A seed for the made-up ids of a connection.
    func newSeed() -> UInt64 {
        random.withLock { $0.next() }
    }

    private func settle(_ fault: Fault, _ request: APNsRequest, _ device: String, _ apnsID: String) -> APNsReply {
        if fault.isDelivering {
            deliver(request, device, apnsID)
        } else if case .answer(_, let reason, _) = fault.action {
            inbox.refuse(reason)
        } else {
            inbox.disturb(fault.action.disturbance ?? "other")
        }
        return reply(fault.action, apnsID, delayMilliseconds: fault.delayMilliseconds)
    }

    private func deliver(_ request: APNsRequest, _ device: String, _ apnsID: String) {
        inbox.accept(
            InboxItem(
                at: clock.milliseconds, environment: environment, device: device, apnsID: apnsID,
                headersJSON: InboxItem.headersJSON(request.headers), payload: request.body))
    }

    private func reply(_ action: FaultAction, _ apnsID: String, delayMilliseconds: Int64 = 0) -> APNsReply {
        APNsReply(
            action: action, apnsID: apnsID, uniqueID: environment == .sandbox ? newID() : nil,
            delayMilliseconds: delayMilliseconds)
    }
}
