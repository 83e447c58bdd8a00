import PealCore

/// The kinds of push that APNs knows (providers.md §1.4). The raw value is what `apns-push-type` says.
enum APNsPushType: String, CaseIterable, Sendable {
    case alert, background, controls, complication, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets

    /// What the bundle id is followed by in `apns-topic`.
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

    var payloadBytesMax: Int { self == .voip ? Limits.apnsVoIPPayloadBytesMax : Limits.apnsPayloadBytesMax }

    /// Derives the type where the author gave none.
    static func derived(from aps: JSON, isBackground: Bool) -> APNsPushType {
        if aps["event"]?.stringValue != nil { return .liveactivity }
        let isVisible = ["alert", "badge", "sound"].contains { aps[$0].map { !$0.isNull } ?? false }
        let isContentAvailable = aps["content-available"]?.integerValue == 1
        return !isVisible && (isContentAvailable || isBackground) ? .background : .alert
    }
}
