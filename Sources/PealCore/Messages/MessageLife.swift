/// Until when a message is worth sending: computed once, when the message is accepted or changed, and stored as
/// `Message.expiresAt`. The API, the preview, the engine and the providers all take the end of a message from here.
package struct MessageLife: Sendable, Hashable {
    /// When sending starts. Lives in seconds count from here.
    package let start: Timestamp
    /// Nothing is sent from this instant on, on any platform.
    package let end: Timestamp

    /// The life of a message as it is stored.
    package init(start: Timestamp, end: Timestamp) {
        self.start = start
        self.end = end
    }

    /// The life of a new message.
    ///
    /// The message's own expiry counts as given, even beyond `secondsMax`. Without one the message lives for
    /// `secondsMax`, and with a delivery window until late alerts are given up. A platform's own expiry counts up to
    /// the later of the message's expiry and `secondsMax`.
    /// - Parameters:
    ///   - options: The message's own; `content` holds those of its platforms.
    ///   - secondsMax: The configured life.
    package init(
        _ options: MessageOptions, _ content: Content, window: DeliveryWindow? = nil, start: Timestamp,
        secondsMax: Int64
    ) {
        let own = options.life?.lastInstant(from: start)
        if let window {
            self.init(start: start, end: own ?? window.until + .seconds(Limits.momentRecoverySeconds))
            return
        }
        let latest = start + .seconds(secondsMax)
        let platforms = content.platforms.values.compactMap(\.options.life).map { life in
            min(life.lastInstant(from: start), max(own ?? latest, latest))
        }
        self.init(start: start, end: platforms.reduce(own ?? latest, max))
    }

    /// The part of the life that counts where `options` are in force.
    package func under(_ options: MessageOptions) -> PlatformLife {
        guard let life = options.life else { return PlatformLife(end: end, expiresAt: end, isOneAttempt: false) }
        return PlatformLife(
            end: min(end, life.lastInstant(from: start)), expiresAt: life.end(from: start),
            isOneAttempt: life.isOneAttempt)
    }
}

/// Until when a message is worth sending to one platform.
package struct PlatformLife: Sendable, Hashable {
    /// Nothing is sent from this instant on.
    package let end: Timestamp
    /// The expiry that the push network is given. One that the author asked for is passed on as it is, even where the
    /// engine stops earlier. With one attempt there is no time left, and the network is given 0.
    package let expiresAt: Timestamp
    /// A device that cannot be reached at the first attempt is not tried again, and the network stores nothing.
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

    /// Until when the engine works for it: the one attempt of a life of 0 seconds takes a while of its own.
    fileprivate func lastInstant(from start: Timestamp) -> Timestamp {
        isOneAttempt ? start + .seconds(Limits.oneAttemptSeconds) : end(from: start)
    }
}

extension Message {
    package var life: MessageLife { MessageLife(start: startAt ?? createdAt, end: expiresAt) }
}
