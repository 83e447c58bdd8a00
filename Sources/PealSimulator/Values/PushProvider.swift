/// The networks that are simulated.
package enum PushProvider: String, Sendable, CaseIterable {
    case apns, fcm, wns, mpns
    case webPush = "webpush"

    /// The place among the others, from 0.
    var index: Int {
        switch self {
        case .apns: 0
        case .fcm: 1
        case .wns: 2
        case .mpns: 3
        case .webPush: 4
        }
    }
}
