import Foundation
import Synchronization

/// The broadcast channels of all apps in each environment.
package final class BroadcastChannels: Sendable {
    private struct Owner: Hashable {
        let environment: PushEnvironment
        let bundleID: String
    }

    private struct Channel {
        let id: String
        let keepsNewest: Bool
    }

    private let channels = Mutex<[Owner: [Channel]]>([:])

    /// No channels.
    package init() {}

    /// Adds a channel to an app. Returns false when the app has too many.
    func add(_ id: String, keepsNewest: Bool, environment: PushEnvironment, bundleID: String) -> Bool {
        channels.withLock { channels in
            let owner = Owner(environment: environment, bundleID: bundleID)
            guard channels[owner, default: []].count < SimulatorLimits.channelsPerAppMax else { return false }
            channels[owner, default: []].append(Channel(id: id, keepsNewest: keepsNewest))
            return true
        }
    }

    /// Whether a channel keeps the newest message; nil when there is no such channel.
    func keepsNewest(_ id: String, environment: PushEnvironment, bundleID: String) -> Bool? {
        channels.withLock { channels in
            channels[Owner(environment: environment, bundleID: bundleID)]?.first { $0.id == id }?.keepsNewest
        }
    }

    /// Removes a channel. Returns whether it existed.
    func remove(_ id: String, environment: PushEnvironment, bundleID: String) -> Bool {
        channels.withLock { channels in
            let owner = Owner(environment: environment, bundleID: bundleID)
            guard let index = channels[owner]?.firstIndex(where: { $0.id == id }) else { return false }
            channels[owner]?.remove(at: index)
            return true
        }
    }

    /// The ids of an app's channels, in the order of their creation.
    func ids(environment: PushEnvironment, bundleID: String) -> [String] {
        channels.withLock { $0[Owner(environment: environment, bundleID: bundleID), default: []].map(\.id) }
    }
}

/// The listener on which apps manage their broadcast channels
/// (https://developer.apple.com/documentation/usernotifications/sending-channel-management-requests-to-apns).
struct ChannelManagement: PushService {
    let provider = PushProvider.apns
    let environment: PushEnvironment
    let device: APNsJudge
    let channels: BroadcastChannels
    let ids: IDSource
    /// In fast mode, every client may manage every app.
    let mode: SimulatorMode

    var expired: FaultAnswer { APNsService.expired }

    func judge(_ request: PushRequest, memory: inout ConnectionMemory, milliseconds: Int64) -> Judgement {
        let headers = [(name: "apns-request-id", value: BroadcastJudge.requestID(request) ?? ids.uuid())]
        do throws(APNsReason) {
            var answer = try carryOut(request, &memory, milliseconds / 1_000)
            answer.set(headers)
            let credential = request.credentials("bearer").map { Fingerprint.of($0, isFoldingCase: false) }
            return .accepted(Acceptance(kind: .management, answer: answer, credential: credential))
        } catch {
            let text = APNsReason.json(error.rawValue)
            return .declined(.json(error.status, text, headers: headers))
        }
    }

    func answer(_ fault: FaultAnswer, to acceptance: Acceptance) -> HTTPAnswer {
        let headers = acceptance.answer.headers.filter { $0.name == "apns-request-id" }
        return .json(fault.status, APNsReason.json(fault.reason, fault.timestamp), headers: headers)
    }

    private func carryOut(
        _ request: PushRequest, _ memory: inout ConnectionMemory, _ nowSeconds: Int64
    ) throws(APNsReason) -> HTTPAnswer {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        guard parts.count == 4, parts[0] == "1", parts[1] == "apps", !parts[2].isEmpty else {
            throw .badPath
        }
        if mode == .strict {
            try device.checkDuplicates(request)
            try device.authenticate(request, &memory, nowSeconds)
            guard memory.bundleIDs.contains(parts[2]) else { throw .topicDisallowed }
            if let id = request.value("apns-request-id"), !APNsJudge.isUUID(id) {
                throw .badRequestParameters
            }
        }
        switch (parts[3], request.method) {
        case ("channels", "POST"): return try create(request, parts[2])
        case ("channels", "GET"): return try read(request, parts[2])
        case ("channels", "DELETE"): return try delete(request, parts[2])
        case ("all-channels", "GET"): return list(parts[2])
        case ("channels", _), ("all-channels", _): throw .methodNotAllowed
        default: throw .badPath
        }
    }

    private func create(_ request: PushRequest, _ bundleID: String) throws(APNsReason) -> HTTPAnswer {
        guard let body = JSONValue(bytes: request.body), body.members != nil,
            let policy = body["message-storage-policy"]?.integer, policy == 0 || policy == 1
        else { throw .badRequestPayload }
        guard let type = body["push-type"] else { throw .missingPushType }
        guard type.string?.lowercased() == PushType.liveactivity.rawValue else { throw .invalidPushType }
        let id = Data(ids.bytes(16)).base64EncodedString()
        guard channels.add(id, keepsNewest: policy == 1, environment: environment, bundleID: bundleID) else {
            throw .cannotCreateChannel
        }
        return HTTPAnswer(201, headers: [("apns-channel-id", id)])
    }

    private func read(_ request: PushRequest, _ bundleID: String) throws(APNsReason) -> HTTPAnswer {
        let id = try BroadcastJudge.channelID(request)
        let keepsNewest = channels.keepsNewest(id, environment: environment, bundleID: bundleID)
        guard let keepsNewest else { throw .channelNotRegistered }
        let body = [("message-storage-policy", keepsNewest ? "1" : "0"), ("push-type", "\"LiveActivity\"")]
        return .json(200, JSONText.object(body))
    }

    private func delete(_ request: PushRequest, _ bundleID: String) throws(APNsReason) -> HTTPAnswer {
        let id = try BroadcastJudge.channelID(request)
        guard channels.remove(id, environment: environment, bundleID: bundleID) else {
            throw .channelNotRegistered
        }
        return HTTPAnswer(204)
    }

    private func list(_ bundleID: String) -> HTTPAnswer {
        let names = channels.ids(environment: environment, bundleID: bundleID).map(JSONText.quoted)
        return .json(200, JSONText.object([("channels", "[" + names.joined(separator: ",") + "]")]))
    }
}

/// Judges a notification to a broadcast channel, `POST /4/broadcasts/apps/<bundle id>`
/// (https://developer.apple.com/documentation/usernotifications/sending-broadcast-push-notification-requests-to-apns).
struct BroadcastJudge: Sendable {
    private static let prefix = "/4/broadcasts/apps/"
    /// Authenticates the sender as for any other notification.
    let device: APNsJudge
    let channels: BroadcastChannels

    /// Whether `request` is a broadcast.
    static func concerns(_ request: PushRequest) -> Bool {
        request.path.hasPrefix("/4/broadcasts")
    }

    /// The sender's `apns-request-id`, if it is a UUID.
    static func requestID(_ request: PushRequest) -> String? {
        request.value("apns-request-id").flatMap { APNsJudge.isUUID($0) ? $0 : nil }
    }

    /// Returns the id of the channel, or throws the refusal.
    func judge(
        _ request: PushRequest, memory: inout ConnectionMemory, nowSeconds: Int64
    ) throws(APNsReason) -> String {
        guard request.path.hasPrefix(Self.prefix) else { throw .badPath }
        guard request.method == "POST" else { throw .methodNotAllowed }
        let bundleID = String(request.path.dropFirst(Self.prefix.count))
        guard !bundleID.isEmpty, !bundleID.contains(where: { $0 == "/" || $0 == "?" }) else {
            throw .badPath
        }
        try device.checkDuplicates(request)
        try device.authenticate(request, &memory, nowSeconds)
        guard memory.bundleIDs.contains(bundleID) else { throw .topicDisallowed }
        let keepsNewest = try checkChannel(request, bundleID)
        try checkHeaders(request, keepsNewest: keepsNewest)
        try checkPayload(request)
        return request.value("apns-channel-id") ?? ""
    }

    private func checkChannel(_ request: PushRequest, _ bundleID: String) throws(APNsReason) -> Bool {
        let id = try Self.channelID(request)
        let found = channels.keepsNewest(id, environment: device.environment, bundleID: bundleID)
        guard let found else { throw .channelNotRegistered }
        return found
    }

    /// The channel that a request names, in base64.
    static func channelID(_ request: PushRequest) throws(APNsReason) -> String {
        guard let id = request.value("apns-channel-id"), !id.isEmpty else { throw .missingChannelID }
        guard id.utf8.count <= SimulatorLimits.channelIDBytesMax, Data(base64Encoded: id) != nil else {
            throw .badChannelID
        }
        return id
    }

    /// A channel without storage accepts no message with an expiration.
    private func checkHeaders(_ request: PushRequest, keepsNewest: Bool) throws(APNsReason) {
        guard let type = request.value("apns-push-type") else { throw .missingPushType }
        guard type.lowercased() == PushType.liveactivity.rawValue else { throw .invalidPushType }
        try device.checkExpiration(request)
        if !keepsNewest, let expiration = request.value("apns-expiration"), Int64(expiration) != 0 {
            throw .badExpirationDate
        }
        try device.checkPriority(request, .liveactivity)
        if let id = request.value("apns-request-id"), !APNsJudge.isUUID(id) { throw .badRequestParameters }
    }

    /// A broadcast can update and end a Live Activity, but not start one.
    private func checkPayload(_ request: PushRequest) throws(APNsReason) {
        guard !request.body.isEmpty else { throw .payloadEmpty }
        guard request.bodyBytes <= SimulatorLimits.broadcastPayloadBytesMax else { throw .payloadTooLarge }
        guard let payload = JSONValue(bytes: request.body), payload.members != nil else {
            throw .payloadEmpty
        }
        guard let event = payload["aps"]?["event"]?.string, ["update", "end"].contains(event),
            payload["aps"]?["timestamp"]?.integer != nil
        else { throw .badRequestPayload }
    }
}
