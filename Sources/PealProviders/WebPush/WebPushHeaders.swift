import NIOHTTP1
import PealCore

/// Writes the headers of a Web Push request: the rendered ones, with the life that is left when it is sent, in the
/// forms that some push services insist on.
enum WebPushHeaders {
    private static let names = [
        "ttl": "TTL", "urgency": "Urgency", "topic": "Topic", "content-encoding": "Content-Encoding",
        "content-type": "Content-Type",
    ]

    /// - Parameter host: of the endpoint.
    static func fields(of notification: Notification, to host: String, now: Timestamp) -> HTTPHeaders {
        var headers = HTTPHeaders()
        let life = lifeSeconds(notification, host, now)
        for header in notification.headers {
            let value =
                switch header.name {
                case "ttl": String(life)
                case "topic": topic(header.value, host)
                default: header.value
                }
            headers.add(name: names[header.name] ?? header.name, value: value)
        }
        // Edge's push service is WNS, where a life of 0 contradicts caching and is answered 400.
        if life == 0, host.hasSuffix(".notify.windows.com") {
            headers.add(name: "X-WNS-Cache-Policy", value: "no-cache")
        }
        return headers
    }

    /// FCM refuses more than four weeks, where others cut it down.
    private static func lifeSeconds(_ notification: Notification, _ host: String, _ now: Timestamp) -> Int64 {
        let life = WebPushRendering.lifeSeconds(until: notification.expiresAt, now: now)
        return host == "fcm.googleapis.com" ? min(life, Limits.fcmTTLSecondsMax) : life
    }

    /// Apple decodes topics, and answers 400 `BadWebPushTopic` to a length that base64 cannot have.
    private static func topic(_ topic: String, _ host: String) -> String {
        host.hasSuffix(".push.apple.com") && topic.utf8.count % 4 == 1 ? WebPushRendering.digest(topic) : topic
    }
}
