import PealCore

/// How FCM measures a message: the names and values of what reaches the device, 4,096 bytes at most.
enum FCMSize {
    /// - Throws: `payload_too_large`, naming the field that takes most.
    static func check(_ message: JSON, _ order: RenderOrder, _ own: FCMFields) throws(PealError) {
        let count = bytes(message)
        guard count > Limits.fcmPayloadBytesMax else { return }
        throw PealError(
            .payloadTooLarge,
            "the FCM payload has \(count) bytes, \(Limits.fcmPayloadBytesMax) is the most",
            field: largestField(order, own))
    }

    /// `android.data` stands in for `data`, and `android.notification` adds to `notification`.
    static func bytes(_ message: JSON) -> Int {
        let android = message["android"] ?? message["androidV2"]
        let data = android?["data"].flatMap { $0.isNull ? nil : $0 } ?? message["data"]
        let look = android?["notification"] ?? android?["remoteNotification"]?["notification"]
        return [data, message["notification"], look].reduce(0) { $0 + bytes(of: $1) }
    }

    private static func bytes(of part: JSON?) -> Int {
        part?.objectValue?.pairs.reduce(0) { sum, pair in
            sum + pair.0.utf8.count + (pair.1.stringValue?.utf8.count ?? pair.1.bytes.count)
        } ?? 0
    }

    private static func largestField(_ order: RenderOrder, _ own: FCMFields) -> String {
        let content = order.content
        func size(_ text: LocalizedText?) -> Int {
            text?.text(for: order.locale, fallback: content.defaultLocale)?.utf8.count ?? 0
        }
        let isShown = !own.isDataOnly && !order.options.isBackground
        let shown: [(String, Int)] = [
            ("content.body", size(content.body)), ("content.title", size(content.title)),
            ("content.image_url", content.imageURL?.utf8.count ?? 0),
        ]
        let android = own.message["android"]
        let others: [(String, Int)] = [
            ("content.data", bytes(of: .object(content.data))),
            ("content.android.data", bytes(of: own.message["data"])),
            ("content.android.notification", bytes(of: own.message["notification"])),
            ("content.android.android.data", bytes(of: android?["data"])),
            ("content.android.android.notification", bytes(of: android?["notification"])),
        ]
        return ((isShown ? shown : []) + others).max { $0.1 < $1.1 }?.0 ?? "content"
    }
}
