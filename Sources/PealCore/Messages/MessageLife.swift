/// Until when to send a message: computed once, when the message is accepted or changed, and stored as
/// `Message.expiresAt`. The API, the preview, the engine and the providers all use this end.
package struct MessageLife: Sendable, Hashable {
    /// When sending starts. A lifetime in seconds counts from here.
    package let start: Timestamp
    /// From this instant on, Peal sends nothing on any platform.
    package let end: Timestamp

    /// The stored life of a message.
    package init(start: Timestamp, end: Timestamp) {
        self.start = start
        self.end = end
    }

    /// The life of a new message.
    ///
    /// The message's own expiry counts as given, even beyond `secondsMax`. Without one the message lives for
    /// `secondsMax`, and with a delivery window until `DeliveryWindow.lastInstant`. A platform's own expiry is limited
    /// to the later of the message's expiry and `secondsMax`.
    /// - Parameters:
    ///   - options: The message's own options; `content` holds those of its platforms.
    ///   - secondsMax: The configured lifetime.
    package init(
        _ options: MessageOptions, _ content: Content, window: DeliveryWindow? = nil, start: Timestamp,
        secondsMax: Int64
    ) {
        let own = options.life?.lastInstant(from: start)
        if let window {
            self.init(start: start, end: own ?? window.lastInstant)
            return
        }
        let latest = start + .seconds(secondsMax)
        let platforms = content.platforms.values.compactMap(\.options.life).map { life in
            min(life.lastInstant(from: start), max(own ?? latest, latest))
        }
        self.init(start: start, end: platforms.reduce(own ?? latest, max))
    }

    /// The life of the message with `options`.
    package func under(_ options: MessageOptions) -> PlatformLife {
        guard let life = options.life else { return PlatformLife(end: end, expiresAt: end, isOneAttempt: false) }
        return PlatformLife(
            end: min(end, life.lastInstant(from: start)), expiresAt: life.end(from: start),
            isOneAttempt: life.isOneAttempt)
    }
}

/// Until when to send a message to one platform.
package struct PlatformLife: Sendable, Hashable {
    /// From this instant on, Peal sends nothing.
    package let end: Timestamp
    /// The expiry for the push network. The author's expiry is passed on unchanged, even if the engine stops earlier.
    /// With one attempt no time remains, and the network receives 0.
    package let expiresAt: Timestamp
    /// Whether Peal tries each device only once, and the network stores nothing.
    package let isOneAttempt: Bool

    package func isOver(at now: Timestamp) -> Bool { now >= end }
}

extension MessageOptions.Life {
    package var isOneAttempt: Bool { self == .seconds(0) }

    /// The expiry as the author gave it.
    package func end(from start: Timestamp) -> Timestamp {
        switch self {
        case .until(let instant): instant
        case .seconds(let seconds): start + .seconds(seconds)
        }
    }

    /// When the engine stops working on it. With a lifetime of 0 seconds, the one attempt still takes some time.
    fileprivate func lastInstant(from start: Timestamp) -> Timestamp {
        isOneAttempt ? start + .seconds(Limits.oneAttemptSeconds) : end(from: start)
    }
}

extension DeliveryJob {
    /// In recipients' time zones, a lifetime in seconds counts from the start in the last zone.
    package var life: MessageLife {
        let start = options.recipientsTime.map { MessageLife.lastStart(of: $0) } ?? message.startAt
        return MessageLife(start: max(start ?? message.createdAt, message.createdAt), end: message.expiresAt)
    }
}

extension MessageLife {
    /// When clocks first show `reading` anywhere (UTC+14).
    package static func firstStart(of reading: Timestamp) -> Timestamp { reading - .seconds(14 * 3600) }

    /// When they show it in the last zone (UTC-12).
    package static func lastStart(of reading: Timestamp) -> Timestamp { reading + .seconds(12 * 3600) }
}
