/// Which of a provider's two worlds an address belongs to. Only APNs has two; all else is `production`.
package enum Environment: String, CaseIterable, Hashable, Sendable {
    case production
    case sandbox

    /// Reads the name; `development` is Apple's older word for `sandbox`.
    package init?(alias: String) {
        if alias == "development" { self = .sandbox } else { self.init(rawValue: alias) }
    }
}
