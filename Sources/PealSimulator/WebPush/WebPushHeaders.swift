/// The checks of the headers of RFC 8030 and of the size of the body.
enum WebPushHeaders {
    private static let urgencies: Set<String> = ["very-low", "low", "normal", "high"]

    /// Throws what is wrong with `request`.
    static func check(_ request: PushRequest) throws(WebPushRefusal) {
        guard let life = request.value("ttl") else { throw WebPushRefusal(400, 111, "MissingTTL") }
        guard !life.isEmpty, life.utf8.allSatisfy({ (0x30...0x39).contains($0) }), Int64(life) != nil else {
            throw WebPushRefusal(400, 112, "BadTTL")
        }
        if let urgency = request.value("urgency"), !urgencies.contains(urgency) {
            throw WebPushRefusal(400, 0, "BadUrgency")
        }
        if let topic = request.value("topic") {
            let isGood = topic.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x2D || byte == 0x5F
            }
            guard isGood, (1...SimulatorLimits.webPushTopicMax).contains(topic.utf8.count) else {
                throw WebPushRefusal(400, 113, "BadTopic")
            }
        }
        guard request.bodyBytes <= SimulatorLimits.webPushBodyBytesMax else {
            throw WebPushRefusal(413, 104, "PayloadTooLarge")
        }
        // A message without a body is a mere wake-up, and needs no encryption.
        if !request.body.isEmpty, request.value("content-encoding") != "aes128gcm" {
            throw WebPushRefusal(400, 110, "BadContentEncoding")
        }
    }
}
