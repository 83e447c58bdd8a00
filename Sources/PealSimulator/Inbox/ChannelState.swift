/// How a channel of WNS or MPNS is: without an entry, well.
package enum ChannelState: String, Sendable, CaseIterable {
    /// The channel is gone (WNS 410, MPNS 404 `Expired`).
    case expired
    /// Too many for this channel (WNS `channelthrottled`, MPNS `QueueFull`).
    case throttled
    /// Taken and thrown away (WNS `dropped`, MPNS `Suppressed`).
    case dropped
    /// The device is away (WNS: taken, `disconnected`; MPNS 412).
    case disconnected
    /// There never was such a channel (404).
    case unknown
    /// The channel belongs to another app (WNS 403, MPNS 401).
    case otherApp = "other_app"
    /// The day's number is used up, or the sender is too fast (406).
    case limited
}
