internal import PealCore

/// Reads how a message is to be sent.
struct OptionsReader {
    func options(_ fields: Fields?) throws(PealError) -> MessageOptions {
        guard let fields else { return MessageOptions() }
        try fields.refuse("rate_per_second", "unreachable")
        let shared = try platformOptions(fields)
        var options = MessageOptions()
        options.priority = shared.priority
        options.life = shared.life
        options.collapseKey = shared.collapseKey
        options.isBackground = shared.isBackground ?? false
        options.environment = shared.environment
        options.lostAnswer = try fields.choice("lost_answer") ?? .resend
        return options
    }

    func platformOptions(_ fields: Fields) throws(PealError) -> PlatformOptions {
        var options = PlatformOptions()
        options.priority = try fields.choice("priority")
        options.life = try life(fields)
        options.collapseKey = try fields.text("collapse_key")
        options.isBackground = try fields.flag("background")
        options.environment = try fields.environment()
        return options
    }

    private func life(_ fields: Fields) throws(PealError) -> MessageOptions.Life? {
        let instant = try fields.time("expires_at")
        let seconds = try fields.integer("ttl_seconds", in: 0...Limits.ttlSecondsMax)
        switch (instant, seconds) {
        case (let instant?, nil): return .until(instant)
        case (nil, let seconds?): return .seconds(seconds)
        case (nil, nil): return nil
        case (_?, _?):
            throw .invalid(
                fields.path("ttl_seconds"), "give either expires_at or ttl_seconds, not both")
        }
    }
}
