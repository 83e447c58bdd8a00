import Foundation

/// The listener on which apps manage their broadcast channels
/// (https://developer.apple.com/documentation/usernotifications/sending-channel-management-requests-to-apns).
struct ChannelManagement: PushNetwork {
    let provider = PushProvider.apns
    let environment: PushEnvironment
    let device: APNsJudge
    let channels: BroadcastChannels
    let ids: IDSource
    /// In the fast mode anybody may manage any app.
    let mode: SimulatorMode

    var expired: FaultAnswer { APNsNetwork.expired }

    func judge(_ request: PushRequest, memory: inout ConnectionMemory, milliseconds: Int64) -> Judgement {
        let headers = [(name: "apns-request-id", value: BroadcastJudge.requestID(request) ?? ids.uuid())]
        do throws(APNsRefusal) {
            var answer = try carryOut(request, &memory, milliseconds / 1_000)
            answer.set(headers)
            let credential = request.credentials("bearer").map { Fingerprint.of($0, isFoldingCase: false) }
            return .accepted(Acceptance(kind: .management, answer: answer, credential: credential))
        } catch {
            let text = APNsReason.json(error.reason.rawValue)
            return .declined(.json(error.reason.status, text, headers: headers))
        }
    }

    func answer(_ fault: FaultAnswer, to acceptance: Acceptance) -> Answer {
        let headers = acceptance.answer.headers.filter { $0.name == "apns-request-id" }
        return .json(fault.status, APNsReason.json(fault.reason, fault.timestamp), headers: headers)
    }

    private func carryOut(
        _ request: PushRequest, _ memory: inout ConnectionMemory, _ nowSeconds: Int64
    ) throws(APNsRefusal) -> Answer {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        guard parts.count == 4, parts[0] == "1", parts[1] == "apps", !parts[2].isEmpty else {
            throw APNsRefusal(.badPath)
        }
        if mode == .strict {
            try device.checkDuplicates(request)
            try device.authenticate(request, &memory, nowSeconds)
            guard memory.bundleIDs.contains(parts[2]) else { throw APNsRefusal(.topicDisallowed) }
            if let id = request.value("apns-request-id"), !APNsJudge.isUUID(id) {
                throw APNsRefusal(.badRequestParameters)
            }
        }
        switch (parts[3], request.method) {
        case ("channels", "POST"): return try create(request, parts[2])
        case ("channels", "GET"): return try read(request, parts[2])
        case ("channels", "DELETE"): return try delete(request, parts[2])
        case ("all-channels", "GET"): return list(parts[2])
        case ("channels", _), ("all-channels", _): throw APNsRefusal(.methodNotAllowed)
        default: throw APNsRefusal(.badPath)
        }
    }

    private func create(_ request: PushRequest, _ bundleID: String) throws(APNsRefusal) -> Answer {
        guard let body = JSONValue(bytes: request.body), body.members != nil,
            let policy = body["message-storage-policy"]?.integer, policy == 0 || policy == 1
        else { throw APNsRefusal(.badRequestPayload) }
        guard let type = body["push-type"] else { throw APNsRefusal(.missingPushType) }
        guard type.string?.lowercased() == PushType.liveactivity.rawValue else { throw APNsRefusal(.invalidPushType) }
        let id = Data(ids.bytes(16)).base64EncodedString()
        guard channels.add(id, keepsNewest: policy == 1, environment: environment, bundleID: bundleID) else {
            throw APNsRefusal(.cannotCreateChannel)
        }
        return Answer(201, headers: [("apns-channel-id", id)])
    }

    private func read(_ request: PushRequest, _ bundleID: String) throws(APNsRefusal) -> Answer {
        let id = try BroadcastJudge.channelID(request)
        let keepsNewest = channels.keepsNewest(id, environment: environment, bundleID: bundleID)
        guard let keepsNewest else { throw APNsRefusal(.channelNotRegistered) }
        let body = [("message-storage-policy", keepsNewest ? "1" : "0"), ("push-type", "\"LiveActivity\"")]
        return .json(200, JSONText.object(body))
    }

    private func delete(_ request: PushRequest, _ bundleID: String) throws(APNsRefusal) -> Answer {
        let id = try BroadcastJudge.channelID(request)
        guard channels.remove(id, environment: environment, bundleID: bundleID) else {
            throw APNsRefusal(.channelNotRegistered)
        }
        return Answer(204)
    }

    private func list(_ bundleID: String) -> Answer {
        let names = channels.ids(environment: environment, bundleID: bundleID).map(JSONText.quoted)
        return .json(200, JSONText.object([("channels", "[" + names.joined(separator: ",") + "]")]))
    }
}
