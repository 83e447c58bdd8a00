import PealCore

/// The kinds of push that APNs knows ("Sending notification requests to APNs", "Know when to use push types"). The raw
/// value is what `apns-push-type` says.
enum APNsPushType: String, CaseIterable, Sendable {
    case alert, background, controls, complication, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets

    /// What the bundle id is followed by in `apns-topic`. Of `mdm` the topic is the UID of the certificate's subject,
    /// which then stands as the credential's bundle id.
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

    /// Certificates carry only the topics that Apple wrote into them, and never location queries.
    var needsToken: Bool { self == .location }

    /// `apns-priority`: 10 at once, 5 as power allows, 1 without ever waking the device. Background pushes must have 5
    /// (10 is an error), push-to-talk ones 10; Live Activities and location queries know 10 and 5 only.
    func priority(_ priority: MessageOptions.Priority) -> String {
        switch (self, priority) {
        case (.background, _): "5"
        case (.pushtotalk, _), (_, .high): "10"
        case (_, .normal), (.liveactivity, _), (.location, _): "5"
        case (_, .low): "1"
        }
    }

    /// Derives the type where the author gave none.
    static func derived(from aps: JSON, isBackground: Bool) -> APNsPushType {
        if aps["event"]?.stringValue != nil { return .liveactivity }
        let isVisible = ["alert", "badge", "sound"].contains { aps[$0].map { !$0.isNull } ?? false }
        let isContentAvailable = aps["content-available"]?.integerValue == 1
        return !isVisible && (isContentAvailable || isBackground) ? .background : .alert
    }
}
