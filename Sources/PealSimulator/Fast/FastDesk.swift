/// What the connections of a fast listener share, and which network they play.
struct FastDesk: Sendable {
    let provider: PushProvider
    let environment: PushEnvironment
    let inbox: Inbox
    let faults: FaultPlan
    let clock: SimulatorClock
    let ids: IDSource
}
