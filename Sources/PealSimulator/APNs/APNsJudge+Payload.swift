import Foundation

/// The checks of the body.
extension APNsJudge {
    /// Size, well-formed JSON object, and content that fits the push type.
    func checkPayload(_ request: PushRequest, _ type: PushType?) throws(APNsRefusal) {
        guard !request.body.isEmpty else { throw APNsRefusal(.payloadEmpty) }
        guard request.body.count <= (type ?? .alert).payloadBytesMax else { throw APNsRefusal(.payloadTooLarge) }
        // APNs documents no reason of its own for a body that is no JSON object: it finds no payload in it.
        guard let value = try? JSONSerialization.jsonObject(with: Data(request.body)),
            let payload = value as? [String: Any]
        else { throw APNsRefusal(.payloadEmpty) }
        try checkContent(payload["aps"] as? [String: Any] ?? [:], type)
    }

    private func checkContent(_ aps: [String: Any], _ type: PushType?) throws(APNsRefusal) {
        let isVisible = ["alert", "badge", "sound"].contains { aps[$0] != nil }
        let isSilent = (aps["content-available"] as? Int) == 1
        let fits =
            switch type {
            case .background: isSilent && !isVisible
            case .alert: isVisible || !isSilent
            case .liveactivity: aps["event"] is String && aps["timestamp"] is NSNumber
            default: true
            }
        guard fits else { throw APNsRefusal(.invalidPushType) }
    }
}
