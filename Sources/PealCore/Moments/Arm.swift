/// Which way of delivery a user's messages of a campaign take. The raw value is stored.
package enum Arm: Int64, CaseIterable, Sendable, Hashable {
    /// At once, by the server.
    case traditional = 0
    /// At a moment inside the window that the device chooses.
    case contextAware = 1

    /// The word in the APIs.
    package var name: String {
        switch self {
        case .traditional: "traditional"
        case .contextAware: "context_aware"
        }
    }
}
