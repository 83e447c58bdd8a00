package import PealCore

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

    /// With fewer expected cases in an arm, the normal approximation is too inaccurate for standard errors.
    private static let expectedMin = 5.0
    /// In standard errors. People look every day, so two would raise false alarms.
    private static let limit = 3.0

    package let measure: Measure
    package let contextAware: CaseSums
    package let traditional: CaseSums

    package init(_ measure: Measure, contextAware: CaseSums, traditional: CaseSums) {
        self.measure = measure
        self.contextAware = contextAware
        self.traditional = traditional
    }

    init(_ measure: Measure, _ facts: ExperimentFacts) {
        func sums(_ arm: Arm) -> CaseSums {
            let guards = facts.guards[arm] ?? .init()
            return switch measure {
            case .failed: guards.messages.failed
            case .dismissed: guards.messages.dismissed
            case .noSession: guards.messages.withoutSession
            case .appRemoved: guards.removed
            case .notificationsOff: guards.muted
            }
        }
        self.init(measure, contextAware: sums(.contextAware), traditional: sums(.traditional))
    }

    /// Whether it is more frequent with good moments than chance explains.
    package var isWorse: Bool {
        let all = contextAware + traditional
        guard let difference, let share = all.share else { return false }
        let fewest = Double(min(contextAware.occasions, traditional.occasions))
        return share * fewest >= Self.expectedMin && difference > Self.limit * standardError
    }

    /// The share of cases with good moments minus the share without; nil while an arm has no occasions.
    package var difference: Double? {
        guard let aware = contextAware.share, let plain = traditional.share else { return nil }
        return aware - plain
    }

    /// The standard error of `difference` if the arms do not differ, with users as units, by the delta method. The
    /// variance between users is that of both arms together: an arm with few users, such as a holdout, often has no
    /// cases at all, and would seem to have no variance.
    package var standardError: Double {
        let all = contextAware + traditional
        guard all.users > 1, let share = all.share else { return 0 }
        let residuals =
            Double(all.squaredCases) - 2 * share * Double(all.products) + share * share * Double(all.squaredOccasions)
        let variance = max(residuals, 0) / Double(all.users - 1)
        func part(_ arm: CaseSums) -> Double {
            arm.occasions > 0 ? Double(arm.users) / (Double(arm.occasions) * Double(arm.occasions)) : 0
        }
        return (variance * (part(contextAware) + part(traditional))).squareRoot()
    }
}
