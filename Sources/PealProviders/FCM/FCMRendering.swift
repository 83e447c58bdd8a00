import PealCore

/// Renders a message for FCM: the `Message` of HTTP v1 as JSON
/// (https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages), with a gap for the device.
enum FCMRendering {
    /// - Parameter path: of the request, the same for every message of a project.
    /// - Throws: `payload_too_large` or `invalid_field`, naming the field.
    static func notification(_ order: RenderOrder, path: String) throws(PealError) -> Notification {
        let fields = order.content.platforms[.android]?.fields ?? .init()
        let own = try FCMFields(fields)
        let message = try common(order, own).merging(.object(own.message))
        try FCMSize.check(message, order, own)
        var suffix = Array(#"","#.utf8) + message.bytes.dropFirst()
        suffix.append(UInt8(ascii: "}"))
        return Notification(
            route: order.route, path: .init(Array(path.utf8)), headers: [.init("content-type", "application/json")],
            body: .init(
                Array(#"{"message":{"\#(own.target.rawValue)":""#.utf8), gap: .addressText, suffix: suffix))
    }

    /// What the common fields make; never empty.
    private static func common(_ order: RenderOrder, _ own: FCMFields) throws(PealError) -> JSON {
        var message = JSON.Members()
        var android = delivery(order)
        if !own.isDataOnly, !order.options.isBackground {
            let shown = notification(order)
            if !shown.isEmpty {
                message["notification"] = .object(shown)
                let look = look(order.content)
                if !look.isEmpty, !own.usesSecondForm { android["notification"] = .object(look) }
            }
        }
        if !order.content.data.isEmpty {
            message["data"] = .object(try FCMFields.texts(order.content.data, field: "content.data", isData: true))
        }
        if own.usesSecondForm {
            // It knows no priority: what is shown goes at once (AndroidConfigV2).
            android["priority"] = nil
            message["androidV2"] = .object(android)
        } else {
            message["android"] = .object(android)
        }
        return .object(message)
    }

    private static func notification(_ order: RenderOrder) -> JSON.Members {
        let content = order.content
        func text(_ text: LocalizedText?) -> JSON? {
            text?.text(for: order.locale, fallback: content.defaultLocale).map(JSON.string)
        }
        var members = JSON.Members()
        members["title"] = text(content.title)
        members["body"] = text(content.body)
        members["image"] = content.imageURL.map(JSON.string)
        return members
    }

    /// What Android alone knows of the common fields. `click_action` is what FCM itself took for APNs' category.
    private static func look(_ content: Content) -> JSON.Members {
        var members = JSON.Members()
        members["sound"] = content.sound.map(JSON.string)
        members["clickAction"] = content.category.map(JSON.string)
        if let badge = content.badge, let count = Int32(exactly: badge), count >= 0 {
            members["notificationCount"] = .integer(count)
        }
        return members
    }

    private static func delivery(_ order: RenderOrder) -> JSON.Members {
        var members = JSON.Members()
        members["priority"] = order.options.priorityInForce == .high ? "HIGH" : "NORMAL"
        members["ttl"] = .string("\(ttlSeconds(order))s")
        members["collapseKey"] = order.options.collapseKey.map(JSON.string)
        return members
    }

    /// Whole seconds that are left, as many as FCM takes; 0 = now or never.
    private static func ttlSeconds(_ order: RenderOrder) -> Int64 {
        if case .seconds(0) = order.options.life { return 0 }
        let left = (order.expiresAt.milliseconds - order.now.milliseconds) / 1000
        return min(max(left, 0), Limits.fcmTTLSecondsMax)
    }
}
