package import PealCore
internal import PealMoments

/// How often displays were opened by what the person was doing and the hour of the person's day, from phones whose
/// users share the context of displays.
package struct ContextMap: Sendable, Hashable {
    /// What a person was doing. The raw value is part of the API.
    package enum Activity: String, CaseIterable, Sendable, Hashable {
        case usingPhone = "using_phone"
        case walking
        case vehicle
        /// None of the others.
        case resting
    }

    package struct Cell: Sendable, Hashable {
        package var displays = 0
        package var opens = 0

        /// Whether there are enough displays to state a rate.
        package var isKnown: Bool { displays >= ContextMap.displaysMin }
    }

    package static let hoursPerCell = 3
    package static let displaysMin = 20
    private static let cellCount = 24 / hoursPerCell

    private var cells: [Activity: [Cell]] = [:]

    /// Counts the displays whose contexts this version can read.
    package init(_ labels: some Sequence<MomentLabel>) {
        for activity in Activity.allCases { cells[activity] = .init(repeating: Cell(), count: Self.cellCount) }
        for label in labels {
            guard let context = ContextSnapshot(bytes: label.snapshot) else { continue }
            let index = Int(context.time.hour) / Self.hoursPerCell
            let activity = Self.activity(context.features)
            cells[activity]?[index].displays += 1
            if label.isOpened { cells[activity]?[index].opens += 1 }
        }
    }

    /// One for each `hoursPerCell` of the day, from midnight on.
    package func row(_ activity: Activity) -> [Cell] { cells[activity] ?? [] }

    package var displays: Int { cells.values.joined().reduce(0) { $0 + $1.displays } }

    // The indices of features: all phones of a schema have the same.
    private static let unlocked = index(of: "unlocked")
    private static let walking = index(of: "walking")
    private static let vehicle = index(of: "vehicle")

    private static func index(of name: String) -> Int { FeatureSchema.names.firstIndex(of: name) ?? 0 }

    /// A feature that was not measured is NaN, for which every comparison is false.
    private static func activity(_ features: [Double]) -> Activity {
        if features[vehicle] > 0.5 { return .vehicle }
        if features[walking] > 0.5 { return .walking }
        return features[unlocked] > 0.5 ? .usingPhone : .resting
    }
}
