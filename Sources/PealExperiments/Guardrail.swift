internal import PealCore

/// Something bad that happens to people of both arms, and whether good moments make it more frequent.
package struct Guardrail: Sendable, Hashable {
    /// The raw value is part of the API.
    package enum Measure: String, CaseIterable, Sendable, Hashable {
        /// Messages that could not be delivered, among those that were delivered or failed.
        case failed
        /// Messages that people dismissed, among those that were delivered.
        case dismissed
        /// Messages after which people did not open the app within a day, among matured ones on phones that report it.
        case noSession = "no_session"
        /// Devices that lost the app since the experiment began, for the users of the arm.
        case appRemoved = "app_removed"
        /// Devices whose users do not allow notifications, among those with the SDK.
        case notificationsOff = "notifications_off"
    }

    /// How many of how many.
    package struct Count: Sendable, Hashable {
        package let count: Int
        package let of: Int

        package init(_ count: Int, of all: Int) {
            self.count = count
            self.of = all
        }

        /// nil of nothing.
        package var share: Double? { of > 0 ? Double(count) / Double(of) : nil }
    }

    /// With fewer cases, a difference says nothing.
    private static let casesMin = 10
    /// In standard errors. People look every day, so two would raise false alarms.
    private static let limit = 3.0

    package let measure: Measure
    package let contextAware: Count
    package let traditional: Count

    package init(_ measure: Measure, contextAware: Count, traditional: Count) {
        self.measure = measure
        self.contextAware = contextAware
        self.traditional = traditional
    }

    init(_ measure: Measure, _ report: ExperimentReport) {
        func count(_ arm: Arm) -> Count {
            let guards = report.facts.guards[arm] ?? .init()
            let delivered = report.messages(arm, .phone) + report.messages(arm, .server)
            switch measure {
            case .failed:
                let failed = report.messages(arm, .failed)
                return Count(failed, of: delivered + failed)
            case .dismissed: return Count(guards.dismissed, of: delivered)
            case .noSession: return Count(guards.withoutSession, of: guards.observed)
            case .appRemoved: return Count(guards.removed, of: guards.users)
            case .notificationsOff: return Count(guards.muted, of: guards.reporting)
            }
        }
        self.init(measure, contextAware: count(.contextAware), traditional: count(.traditional))
    }

    /// Whether it is more frequent with good moments than chance explains.
    package var isWorse: Bool {
        guard let aware = contextAware.share, let plain = traditional.share else { return false }
        let (cases, all) = (contextAware.count + traditional.count, contextAware.of + traditional.of)
        let share = Double(cases) / Double(all)
        let error = (share * (1 - share) * (1 / Double(contextAware.of) + 1 / Double(traditional.of))).squareRoot()
        return cases >= Self.casesMin && aware - plain > Self.limit * error
    }
}
