/// The values of `apns-push-type` and what each demands of a request
/// (https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns).
enum PushType: String, CaseIterable {
    case alert, background, controls, complication, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets

    /// What follows the bundle identifier in `apns-topic`.
    var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .controls: ".push-type.controls"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .location: ".location-query"
        case .pushtotalk: ".voip-ptt"
        case .voip: ".voip"
        case .widgets: ".push-type.widgets"
        }
    }

    /// The bytes that a payload may have.
    var payloadBytesMax: Int {
        self == .voip ? SimulatorLimits.voipPayloadBytesMax : SimulatorLimits.payloadBytesMax
    }

    /// The push type whose suffix `topic` ends with; nil for a bare bundle identifier.
    static func suffixed(_ topic: String) -> PushType? {
        allCases.first { !$0.topicSuffix.isEmpty && topic.hasSuffix($0.topicSuffix) }
    }
}
