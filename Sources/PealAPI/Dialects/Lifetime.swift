internal import PealCore

/// Until when the engine works on a message.
enum Lifetime {
    /// The message's own end where one is given, else the latest that a message may live; platforms' ends count within
    /// that. A message that lives for 0 seconds gets one attempt a device, for which there is
    /// `Limits.oneAttemptSeconds`.
    static func end(
        _ options: MessageOptions, _ content: Content, start: Timestamp, lifeSecondsMax: Int64
    ) -> Timestamp {
        let latest = start + .seconds(lifeSecondsMax)
        let own = options.life.map { end(of: $0, start: start) } ?? latest
        let ends = content.platforms.values.compactMap(\.options.life).map { life in
            min(end(of: life, start: start), max(own, latest))
        }
        return max(own, ends.max() ?? own)
    }

    private static func end(of life: MessageOptions.Life, start: Timestamp) -> Timestamp {
        switch life {
        case .until(let instant): instant
        case .seconds(0): start + .seconds(Limits.oneAttemptSeconds)
        case .seconds(let seconds): start + .seconds(seconds)
        }
    }
}
