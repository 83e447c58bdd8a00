internal import PealCore

/// Decides, between reading and rendering, which devices of a page are sent to now. The rules that the operator and the
/// app set (quiet hours, caps, rates) are conformers; `OpenGate` is the one without rules.
protocol PageGate: Sendable {
    /// Whether its rules need `DevicePage.people`, which cost a little to read.
    var needsPeople: Bool { get }

    /// - Returns: The devices that are not sent to now, each once; everybody else is.
    func rule(on page: DevicePage, of job: DeliveryJob, at now: Timestamp) -> [PageRuling]
}

/// What a gate decided about one device of a page.
struct PageRuling: Sendable, Hashable {
    enum Decision: Sendable, Hashable {
        /// It is sent to later. The attempt does not count.
        case hold(until: Timestamp)
        /// It is never sent to.
        case suppress
    }

    /// The device's index in the page.
    let index: Int
    let decision: Decision
    /// For the delivery log.
    let reason: String

    var fate: Fate {
        switch decision {
        case .hold(let until): .held(until: until, reason: reason)
        case .suppress: .settled(.suppressed, reason: reason)
        }
    }
}

/// Lets every device through.
struct OpenGate: PageGate {
    var needsPeople: Bool { false }
    func rule(on page: DevicePage, of job: DeliveryJob, at now: Timestamp) -> [PageRuling] { [] }
}
