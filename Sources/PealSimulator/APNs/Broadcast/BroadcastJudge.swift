import Foundation

/// Judges a notification to a broadcast channel, `POST /4/broadcasts/apps/<bundle id>`
/// (https://developer.apple.com/documentation/usernotifications/sending-broadcast-push-notification-requests-to-apns).
struct BroadcastJudge: Sendable {
    private static let prefix = "/4/broadcasts/apps/"
    /// Who sends is checked as with any other notification.
    let device: APNsJudge
    let channels: BroadcastChannels

    /// Whether `request` is for a channel at all.
    static func concerns(_ request: PushRequest) -> Bool {
        request.path.hasPrefix("/4/broadcasts")
    }

    /// The `apns-request-id` of the sender, when it is a UUID.
    static func requestID(_ request: PushRequest) -> String? {
        request.value("apns-request-id").flatMap { APNsJudge.isUUID($0) ? $0 : nil }
    }

    /// Gives the id of the channel, or throws what is wrong.
    func judge(
        _ request: PushRequest, memory: inout ConnectionMemory, nowSeconds: Int64
    ) throws(APNsRefusal) -> String {
        guard request.path.hasPrefix(Self.prefix) else { throw APNsRefusal(.badPath) }
        guard request.method == "POST" else { throw APNsRefusal(.methodNotAllowed) }
        let bundleID = String(request.path.dropFirst(Self.prefix.count))
        guard !bundleID.isEmpty, !bundleID.contains(where: { $0 == "/" || $0 == "?" }) else {
            throw APNsRefusal(.badPath)
        }
        try device.checkDuplicates(request)
        try device.authenticate(request, &memory, nowSeconds)
        guard memory.bundleIDs.contains(bundleID) else { throw APNsRefusal(.topicDisallowed) }
        let keepsNewest = try checkChannel(request, bundleID)
        try checkHeaders(request, keepsNewest: keepsNewest)
        try checkPayload(request)
        return request.value("apns-channel-id") ?? ""
    }

    private func checkChannel(_ request: PushRequest, _ bundleID: String) throws(APNsRefusal) -> Bool {
        let id = try Self.channelID(request)
        let found = channels.keepsNewest(id, environment: device.environment, bundleID: bundleID)
        guard let found else { throw APNsRefusal(.channelNotRegistered) }
        return found
    }

    /// The channel that a request names: base64.
    static func channelID(_ request: PushRequest) throws(APNsRefusal) -> String {
        guard let id = request.value("apns-channel-id"), !id.isEmpty else { throw APNsRefusal(.missingChannelID) }
        guard id.utf8.count <= SimulatorLimits.channelIDBytesMax, Data(base64Encoded: id) != nil else {
            throw APNsRefusal(.badChannelID)
        }
        return id
    }

    /// A channel without storage takes nothing that is to be kept.
    private func checkHeaders(_ request: PushRequest, keepsNewest: Bool) throws(APNsRefusal) {
        guard let type = request.value("apns-push-type") else { throw APNsRefusal(.missingPushType) }
        guard type.lowercased() == PushType.liveactivity.rawValue else { throw APNsRefusal(.invalidPushType) }
        try device.checkExpiration(request)
        if !keepsNewest, let expiration = request.value("apns-expiration"), Int64(expiration) != 0 {
            throw APNsRefusal(.badExpirationDate)
        }
        try device.checkPriority(request, .liveactivity)
        if let id = request.value("apns-request-id"), !APNsJudge.isUUID(id) { throw APNsRefusal(.badRequestParameters) }
    }

    /// A Live Activity can be updated and ended this way, but not started.
    private func checkPayload(_ request: PushRequest) throws(APNsRefusal) {
        guard !request.body.isEmpty else { throw APNsRefusal(.payloadEmpty) }
        guard request.bodyBytes <= SimulatorLimits.broadcastPayloadBytesMax else { throw APNsRefusal(.payloadTooLarge) }
        guard let payload = JSONValue(bytes: request.body), payload.members != nil else {
            throw APNsRefusal(.payloadEmpty)
        }
        guard let event = payload["aps"]?["event"]?.string, ["update", "end"].contains(event),
            payload["aps"]?["timestamp"]?.integer != nil
        else { throw APNsRefusal(.badRequestPayload) }
    }
}
