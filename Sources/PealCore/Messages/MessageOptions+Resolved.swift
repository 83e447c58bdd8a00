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

    /// The same for a message with a window of delivery. On APNs its id takes the place of any collapse key, so that
    /// whatever shows it, device or alert, shows it in one place.
    package func inWindow(of message: MessageID, on platform: Platform) -> MessageOptions {
        guard platform == .ios else { return self }
        var options = self
        options.collapseKey = message.description
        return options
    }

    /// Priority where none is given: high, and normal for background messages.
    package var priorityInForce: Priority { priority ?? (isBackground ? .normal : .high) }

    /// The instant after which the message is worth nothing, for a send that starts at `start`.
    package func expiry(start: Timestamp, lifeSecondsDefault: Int64 = Limits.messageLifeSecondsDefault) -> Timestamp {
        switch life {
        case .until(let instant): instant
        case .seconds(let seconds): start + .seconds(seconds)
        case nil: start + .seconds(lifeSecondsDefault)
        }
    }
}
