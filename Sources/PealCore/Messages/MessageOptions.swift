/// How a message is to be sent.
package struct MessageOptions: Sendable, Hashable {
    package var priority: Priority?
    package var life: Life?
    /// Replaces an undelivered notification with the same key.
    package var collapseKey: String?
    package var isBackground = false
    /// Narrows the APNs devices, and is the environment of addresses that nobody registered.
    package var environment: Environment?
    package var lostAnswer = LostAnswer.resend

    package init() {}

    package enum Priority: String, CaseIterable, Sendable, Hashable {
        case low, normal, high
    }

    /// Until when a message may be delivered.
    package enum Life: Sendable, Hashable {
        case until(Timestamp)
        /// Seconds from the start of sending; 0 = one attempt, never stored.
        case seconds(Int64)
    }

    /// What to do when a request was written and no answer came.
    package enum LostAnswer: String, CaseIterable, Sendable, Hashable {
        case resend, drop
    }
}

/// Options in one platform's object. They win over the message's own.
package struct PlatformOptions: Sendable, Hashable {
    package var priority: MessageOptions.Priority?
    package var life: MessageOptions.Life?
    package var collapseKey: String?
    package var isBackground: Bool?
    package var environment: Environment?

    package init() {}
}

extension MessageOptions {
    /// The options in force on one platform.
    package func resolved(for platform: Platform, in content: Content) -> MessageOptions {
        guard let own = content.platforms[platform]?.options else { return self }
        var options = self
        options.priority = own.priority ?? priority
        options.life = own.life ?? life
        options.collapseKey = own.collapseKey ?? collapseKey
        options.isBackground = own.isBackground ?? isBackground
        options.environment = own.environment ?? environment
        return options
    }

    /// The same for a message with a delivery window. On APNs its id replaces any collapse key, so that the device
    /// shows it once, whether it came as an alert or not.
    package func inWindow(of message: MessageID, on platform: Platform) -> MessageOptions {
        guard platform == .ios else { return self }
        var options = self
        options.collapseKey = message.description
        return options
    }

    /// Priority where none is given: high, and normal for background messages.
    package var priorityInForce: Priority { priority ?? (isBackground ? .normal : .high) }
}
