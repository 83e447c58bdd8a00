/// How to send a message.
package struct MessageOptions: Sendable, Hashable {
    package var priority: Priority?
    package var life: Life?
    /// Replaces an undelivered notification with the same key.
    package var collapseKey: String?
    package var isBackground = false
    /// Selects APNs devices of one environment, and is the environment of unregistered addresses.
    package var environment: Environment?
    package var lostAnswer = LostAnswer.resend
    package var unreachable = Unreachable.deadline
    /// Whether it ignores quiet hours and frequency caps.
    package var isTransactional = false
    /// The maximum number of notifications per second; nil for no limit.
    package var ratePerSecond: Int64?
    /// The local time at which each recipient gets the message, written as if it were UTC; nil for a message that
    /// starts everywhere at once.
    package var recipientsTime: Timestamp?

    package init() {}

    package enum Priority: String, CaseIterable, Sendable, Hashable {
        case low, normal, high
    }

    /// The lifetime of a message.
    package enum Life: Sendable, Hashable {
        case until(Timestamp)
        /// Seconds from the start of sending; 0 for one attempt, which the network does not store.
        case seconds(Int64)
    }

    /// When the server sends a message with a delivery window to a user whose devices it probably cannot wake. The raw
    /// value is part of the API.
    package enum Unreachable: String, CaseIterable, Sendable, Hashable {
        /// At the end of the window.
        case deadline
        /// In the hour of the window in which the user most probably opens it.
        case bestHour = "best_hour"
        case now
    }

    /// What to do if a request was written and no answer arrived.
    package enum LostAnswer: String, CaseIterable, Sendable, Hashable {
        case resend, drop
    }
}

/// The options in one platform's object. They take precedence over the message's own.
package struct PlatformOptions: Sendable, Hashable {
    package var priority: MessageOptions.Priority?
    package var life: MessageOptions.Life?
    package var collapseKey: String?
    package var isBackground: Bool?
    package var environment: Environment?

    package init() {}
}

extension MessageOptions {
    /// The options that a platform's object may override.
    package var shared: PlatformOptions {
        get {
            var shared = PlatformOptions()
            shared.priority = priority
            shared.life = life
            shared.collapseKey = collapseKey
            shared.isBackground = isBackground
            shared.environment = environment
            return shared
        }
        set {
            priority = newValue.priority
            life = newValue.life
            collapseKey = newValue.collapseKey
            isBackground = newValue.isBackground ?? false
            environment = newValue.environment
        }
    }

    /// The effective options on one platform.
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

    /// The environment whose devices a message reaches; nil for both. Only one network has environments.
    package func audienceEnvironment(in content: Content) -> Environment? {
        let platform = Platform.addressable.first { Route.to($0).count > 1 }
        return platform.map { resolved(for: $0, in: content).environment } ?? environment
    }

    /// These options for a message with a delivery window. If the network collapses windows, the message's id replaces
    /// any collapse key, so that the device shows it only once, whether or not it arrived as an alert.
    func inWindow(of message: MessageID, on platform: Platform) -> MessageOptions {
        guard Route(platform, .production).collapsesWindows else { return self }
        var options = self
        options.collapseKey = message.description
        return options
    }

    /// The effective priority: high by default, normal for background messages.
    package var effectivePriority: Priority { priority ?? (isBackground ? .normal : .high) }
}
