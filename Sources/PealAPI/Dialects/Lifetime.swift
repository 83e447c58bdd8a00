internal import PealCore

/// Until when the engine works on a message.
enum Lifetime {
    /// The latest end that the options of any platform give, within what the server allows. A message that lives for 0
    /// seconds gets one attempt a device, for which there is `Limits.oneAttemptSeconds`.
    static func end(
        _ options: MessageOptions, _ content: Content, start: Timestamp, lifeSecondsMax: Int64
    ) -> Timestamp {
        let latest = start + .seconds(lifeSecondsMax)
        let lives = [options.life] + content.platforms.values.compactMap(\.options.life).map { $0 }
        let ends = lives.map { life -> Timestamp in
            switch life {
            case .until(let instant): instant
            case .seconds(0): start + .seconds(Limits.oneAttemptSeconds)
            case .seconds(let seconds): start + .seconds(seconds)
            case nil: latest
            }
        }
        return min(latest, ends.max() ?? latest)
    }
}
