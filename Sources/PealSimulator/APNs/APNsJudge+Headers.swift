/// The checks of the `apns-…` headers.
extension APNsJudge {
    /// `apns-topic`, taken apart.
    struct Topic {
        let bundleID: String
        /// The push type that the suffix belongs to; nil without a suffix.
        let suffixType: PushType?
    }

    func checkTopic(_ request: PushRequest, _ memory: ConnectionMemory) throws(APNsRefusal) -> Topic {
        if case .good(let certificate) = memory.standing { return try checkTopic(request, certificate) }
        guard let text = request.value("apns-topic"), !text.isEmpty else { throw APNsRefusal(.missingTopic) }
        guard text.utf8.count <= 255, text.utf8.allSatisfy(Self.isTopicByte) else { throw APNsRefusal(.badTopic) }
        if memory.bundleIDs.contains(text) { return Topic(bundleID: text, suffixType: nil) }
        let type = PushType.suffixed(text)
        let bundleID = String(text.dropLast(type?.topicSuffix.count ?? 0))
        guard memory.bundleIDs.contains(bundleID) else { throw APNsRefusal(.topicDisallowed) }
        return Topic(bundleID: bundleID, suffixType: type)
    }

    /// A certificate lists its topics with their suffixes; with a single one the header may be absent.
    private func checkTopic(
        _ request: PushRequest, _ certificate: ClientCertificate
    ) throws(APNsRefusal) -> Topic {
        let only = certificate.topics.count == 1 ? certificate.topics.first : nil
        guard let text = request.value("apns-topic") ?? only, !text.isEmpty else { throw APNsRefusal(.missingTopic) }
        guard text.utf8.count <= 255, text.utf8.allSatisfy(Self.isTopicByte) else { throw APNsRefusal(.badTopic) }
        guard certificate.topics.contains(text) else { throw APNsRefusal(.topicDisallowed) }
        let type = PushType.suffixed(text)
        return Topic(bundleID: String(text.dropLast(type?.topicSuffix.count ?? 0)), suffixType: type)
    }

    private static func isTopicByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
    }

    /// The push type, which the topic's suffix must fit. Without the header the suffix decides; nil means that the
    /// payload decides between alert and background.
    func checkPushType(_ request: PushRequest, topic: Topic) throws(APNsRefusal) -> PushType? {
        guard let text = request.value("apns-push-type") else { return topic.suffixType }
        guard let type = PushType(rawValue: text) else { throw APNsRefusal(.invalidPushType) }
        let demanded = type.topicSuffix.isEmpty ? nil : type
        guard demanded == topic.suffixType else { throw APNsRefusal(.badTopic) }
        return type
    }

    /// 10 (which absence means), 5 or 1; a background notification must be 5.
    func checkPriority(_ request: PushRequest, _ type: PushType?) throws(APNsRefusal) {
        let text = request.value("apns-priority") ?? "10"
        guard ["10", "5", "1"].contains(text), type != .background || text == "5" else {
            throw APNsRefusal(.badPriority)
        }
    }

    /// UNIX seconds as decimal digits; 0 and moments in the past are allowed.
    func checkExpiration(_ request: PushRequest) throws(APNsRefusal) {
        guard let text = request.value("apns-expiration") else { return }
        guard let first = text.utf8.first, first != 0x2B, let seconds = Int64(text), seconds >= 0 else {
            throw APNsRefusal(.badExpirationDate)
        }
    }

    /// `apns-id` is a canonical UUID, `apns-collapse-id` at most 64 bytes.
    func checkIdentifiers(_ request: PushRequest) throws(APNsRefusal) {
        if let text = request.value("apns-id"), !Self.isUUID(text) { throw APNsRefusal(.badMessageID) }
        if let text = request.value("apns-collapse-id") {
            guard (1...SimulatorLimits.collapseIDBytesMax).contains(text.utf8.count) else {
                throw APNsRefusal(.badCollapseID)
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
