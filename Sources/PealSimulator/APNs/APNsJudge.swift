import Foundation

/// Decides whether APNs would accept a request. It does no I/O and reads no clock: the result depends on the request,
/// the connection's memory, keys, marks and the time.
package struct APNsJudge: Sendable {
    let environment: PushEnvironment
    let keys: ProviderKeys
    let marks: DeviceMarks
    /// If nil, every client certificate is bad.
    let certificates: ClientCertificateJudge?
    /// Provider tokens expired by faults.
    let expired: ExpiredCredentials

    /// A judge of one listener.
    package init(environment: PushEnvironment, keys: ProviderKeys, marks: DeviceMarks) {
        self.init(
            environment: environment, keys: keys, marks: marks, certificates: nil, expired: ExpiredCredentials())
    }

    init(
        environment: PushEnvironment, keys: ProviderKeys, marks: DeviceMarks, certificates: ClientCertificateJudge?,
        expired: ExpiredCredentials
    ) {
        self.environment = environment
        self.keys = keys
        self.marks = marks
        self.certificates = certificates
        self.expired = expired
    }

    /// Judges `request`, received at `nowSeconds` (UTC). `memory` is that of its connection.
    package func judge(
        _ request: PushRequest, memory: inout ConnectionMemory, nowSeconds: Int64
    ) -> APNsJudgement {
        do throws(APNsReason) {
            return .accepted(device: try accept(request, &memory, nowSeconds))
        } catch {
            return .refused(error)
        }
    }

    /// The checks in order: route, authentication, headers, payload, device.
    private func accept(
        _ request: PushRequest, _ memory: inout ConnectionMemory, _ nowSeconds: Int64
    ) throws(APNsReason) -> String {
        guard request.method == "POST" else { throw .methodNotAllowed }
        let segment = try deviceSegment(request.path)
        try checkDuplicates(request)
        try authenticate(request, &memory, nowSeconds)
        let topic = try checkTopic(request, memory)
        let pushType = try checkPushType(request, topic: topic)
        try checkPriority(request, pushType)
        try checkExpiration(request)
        try checkIdentifiers(request)
        let device = try checkDeviceToken(segment)
        try checkPayload(request, pushType)
        try checkMark(of: device, bundleID: topic.bundleID)
        return device
    }

    /// The last part of `/3/device/…`.
    private func deviceSegment(_ path: String) throws(APNsReason) -> Substring {
        let prefix = "/3/device"
        guard path.hasPrefix(prefix) else { throw .badPath }
        let rest = path.dropFirst(prefix.count)
        if rest.isEmpty || rest == "/" { throw .missingDeviceToken }
        guard rest.first == "/", !rest.dropFirst().contains(where: { $0 == "/" || $0 == "?" }) else {
            throw .badPath
        }
        return rest.dropFirst()
    }

    func checkDuplicates(_ request: PushRequest) throws(APNsReason) {
        var seen: Set<String> = []
        for header in request.headers where header.name.hasPrefix("apns-") || header.name == "authorization" {
            guard seen.insert(header.name).inserted else { throw .duplicateHeaders }
        }
    }

    private func checkDeviceToken(_ segment: Substring) throws(APNsReason) -> String {
        let digits = segment.utf8
        guard SimulatorLimits.deviceTokenDigits.contains(digits.count), digits.count.isMultiple(of: 2),
            digits.allSatisfy(Hexadecimal.isDigit)
        else { throw .badDeviceToken }
        return segment.lowercased()
    }

    /// A device token of the other environment is bad; one of another app is not for the topic.
    private func checkMark(of device: String, bundleID: String) throws(APNsReason) {
        guard let mark = marks.mark(of: device) else { return }
        if let owner = mark.environment, owner != environment { throw .badDeviceToken }
        if let owner = mark.bundleID, owner != bundleID { throw .deviceTokenNotForTopic }
    }
}

/// The checks of the provider token, or of the client certificate, and of its connection.
extension APNsJudge {
    /// Authenticates the sender: by client certificate if the connection has one, or else by `authorization`, which
    /// binds the connection to its team and key.
    func authenticate(
        _ request: PushRequest, _ memory: inout ConnectionMemory, _ nowSeconds: Int64
    ) throws(APNsReason) {
        guard memory.certificateDER == nil else { return try checkCertificate(&memory, nowSeconds) }
        guard let header = request.value("authorization") else { throw .missingProviderToken }
        guard header.lowercased().hasPrefix("bearer ") else { throw .invalidProviderToken }
        let providerToken = String(header.dropFirst("bearer ".count))
        guard !providerToken.isEmpty else { throw .missingProviderToken }
        let claims = try keys.verify(providerToken)
        memory.warning = claims.isTimeText ? "iat is text: Apple documents a number" : nil
        try checkAge(claims, nowSeconds)
        try checkBinding(claims, memory)
        try checkUpdate(claims, Fingerprint.of(providerToken, isFoldingCase: false), &memory, nowSeconds)
        if !memory.isAuthenticated {
            memory.isAuthenticated = true
            memory.keyID = claims.keyID
            memory.teamID = claims.teamID
            memory.bundleIDs = claims.bundleIDs
        }
    }

    /// With a certificate, a provider token is ignored.
    private func checkCertificate(_ memory: inout ConnectionMemory, _ nowSeconds: Int64) throws(APNsReason) {
        if memory.standing == nil, let certificate = memory.certificateDER {
            memory.standing = certificates?.standing(of: certificate, nowSeconds: nowSeconds) ?? .bad
        }
        guard case .good(let certificate) = memory.standing else { throw .badCertificate }
        guard certificate.environments.contains(environment) else { throw .badCertificateEnvironment }
        memory.isAuthenticated = true
        memory.bundleIDs = certificate.topics
    }

    /// A provider token is valid for an hour from `iat`, which must not be in the future.
    private func checkAge(_ claims: ProviderClaims, _ nowSeconds: Int64) throws(APNsReason) {
        let age = nowSeconds.subtractingReportingOverflow(claims.issuedAtSeconds)
        guard !age.overflow, age.partialValue >= -SimulatorLimits.providerTokenAheadSeconds else {
            throw .invalidProviderToken
        }
        guard age.partialValue <= SimulatorLimits.providerTokenLifeSeconds else {
            throw .expiredProviderToken
        }
    }

    /// A connection is bound to the team and key of its first valid provider token.
    private func checkBinding(_ claims: ProviderClaims, _ memory: ConnectionMemory) throws(APNsReason) {
        if let owner = claims.environment, owner != environment { throw .badEnvironmentKeyID }
        guard memory.isAuthenticated else { return }
        guard memory.teamID == claims.teamID else { throw .invalidProviderToken }
        guard memory.keyID == claims.keyID else { throw .unrelatedKeyID }
    }

    /// Each new provider token on a connection must be 20 minutes younger than the previous one, and come 20 minutes
    /// after the last change. A token seen before is not new.
    private func checkUpdate(
        _ claims: ProviderClaims, _ fingerprint: UInt64, _ memory: inout ConnectionMemory, _ nowSeconds: Int64
    ) throws(APNsReason) {
        guard !memory.tokensSeen.contains(fingerprint) else { return }
        // A token expired by a fault may be replaced at any age.
        let isExpired = memory.tokensSeen.last.map(expired.contains) ?? false
        if memory.isAuthenticated, !isExpired {
            let pause = SimulatorLimits.providerTokenPauseSeconds
            let sinceUpdate = memory.updatedAtSeconds.map { nowSeconds - $0 } ?? pause
            guard claims.issuedAtSeconds - memory.issuedAtSeconds >= pause, sinceUpdate >= pause else {
                throw .tooManyProviderTokenUpdates
            }
            memory.updatedAtSeconds = nowSeconds
        }
        if memory.tokensSeen.count >= SimulatorLimits.connectionTokensMax { memory.tokensSeen.removeFirst() }
        memory.tokensSeen.append(fingerprint)
        memory.issuedAtSeconds = claims.issuedAtSeconds
    }
}

/// The checks of the `apns-…` headers.
extension APNsJudge {
    /// `apns-topic`, parsed.
    struct Topic {
        let bundleID: String
        /// The push type that the suffix belongs to; nil without a suffix.
        let suffixType: PushType?
    }

    func checkTopic(_ request: PushRequest, _ memory: ConnectionMemory) throws(APNsReason) -> Topic {
        if case .good(let certificate) = memory.standing { return try checkTopic(request, certificate) }
        guard let text = request.value("apns-topic"), !text.isEmpty else { throw .missingTopic }
        guard text.utf8.count <= 255, text.utf8.allSatisfy(Self.isTopicByte) else { throw .badTopic }
        if memory.bundleIDs.contains(text) { return Topic(bundleID: text, suffixType: nil) }
        let type = PushType.suffixed(text)
        let bundleID = String(text.dropLast(type?.topicSuffix.count ?? 0))
        guard memory.bundleIDs.contains(bundleID) else { throw .topicDisallowed }
        return Topic(bundleID: bundleID, suffixType: type)
    }

    /// A certificate lists its topics with their suffixes. If there is only one, the header may be missing.
    private func checkTopic(
        _ request: PushRequest, _ certificate: ClientCertificate
    ) throws(APNsReason) -> Topic {
        let only = certificate.topics.count == 1 ? certificate.topics.first : nil
        guard let text = request.value("apns-topic") ?? only, !text.isEmpty else { throw .missingTopic }
        guard text.utf8.count <= 255, text.utf8.allSatisfy(Self.isTopicByte) else { throw .badTopic }
        guard certificate.topics.contains(text) else { throw .topicDisallowed }
        let type = PushType.suffixed(text)
        return Topic(bundleID: String(text.dropLast(type?.topicSuffix.count ?? 0)), suffixType: type)
    }

    private static func isTopicByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
    }

    /// The push type, which must match the topic's suffix. Without the header the suffix determines it; nil means that
    /// the payload determines alert or background.
    func checkPushType(_ request: PushRequest, topic: Topic) throws(APNsReason) -> PushType? {
        guard let text = request.value("apns-push-type") else { return topic.suffixType }
        guard let type = PushType(rawValue: text) else { throw .invalidPushType }
        let demanded = type.topicSuffix.isEmpty ? nil : type
        guard demanded == topic.suffixType else { throw .badTopic }
        return type
    }

    /// 10 (the default), 5 or 1; 5 for a background notification.
    func checkPriority(_ request: PushRequest, _ type: PushType?) throws(APNsReason) {
        let text = request.value("apns-priority") ?? "10"
        guard ["10", "5", "1"].contains(text), type != .background || text == "5" else {
            throw .badPriority
        }
    }

    /// UNIX seconds as decimal digits; 0 and moments in the past are allowed.
    func checkExpiration(_ request: PushRequest) throws(APNsReason) {
        guard let text = request.value("apns-expiration") else { return }
        guard let first = text.utf8.first, first != 0x2B, let seconds = Int64(text), seconds >= 0 else {
            throw .badExpirationDate
        }
    }

    /// `apns-id` is a canonical UUID, `apns-collapse-id` at most 64 bytes.
    func checkIdentifiers(_ request: PushRequest) throws(APNsReason) {
        if let text = request.value("apns-id"), !Self.isUUID(text) { throw .badMessageID }
        if let text = request.value("apns-collapse-id") {
            guard (1...SimulatorLimits.collapseIDBytesMax).contains(text.utf8.count) else {
                throw .badCollapseID
            }
        }
    }

    /// Whether `text` has the form 8-4-4-4-12 of hexadecimal digits.
    static func isUUID(_ text: String) -> Bool {
        guard text.utf8.count == 36 else { return false }
        return text.utf8.enumerated().allSatisfy { index, byte in
            [8, 13, 18, 23].contains(index) ? byte == 0x2D : Hexadecimal.isDigit(byte)
        }
    }
}

/// The checks of the body.
extension APNsJudge {
    /// Size, well-formed JSON object, and content that fits the push type.
    func checkPayload(_ request: PushRequest, _ type: PushType?) throws(APNsReason) {
        guard !request.body.isEmpty else { throw .payloadEmpty }
        guard request.body.count <= (type ?? .alert).payloadBytesMax else { throw .payloadTooLarge }
        // APNs documents no reason for a body that is not a JSON object; treated as a missing payload.
        guard let value = try? JSONSerialization.jsonObject(with: Data(request.body)),
            let payload = value as? [String: Any]
        else { throw .payloadEmpty }
        try checkContent(payload["aps"] as? [String: Any] ?? [:], type)
    }

    private func checkContent(_ aps: [String: Any], _ type: PushType?) throws(APNsReason) {
        let isVisible = ["alert", "badge", "sound"].contains { aps[$0] != nil }
        let isSilent = (aps["content-available"] as? Int) == 1
        let fits =
            switch type {
            case .background: isSilent && !isVisible
            case .alert: isVisible || !isSilent
            case .liveactivity: aps["event"] is String && aps["timestamp"] is NSNumber
            case .controls, .complication, .fileprovider, .location, .mdm, .pushtotalk, .voip, .widgets, nil: true
            }
        guard fits else { throw .invalidPushType }
    }
}

/// The values of `apns-push-type` and what each requires of a request
/// (https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns).
enum PushType: String, CaseIterable {
    case alert, background, controls, complication, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets

    /// The suffix of `apns-topic` after the bundle identifier.
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
