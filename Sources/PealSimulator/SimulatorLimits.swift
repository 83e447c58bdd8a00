/// Every limit of the simulator, with the unit at the end of its name. `docs/simulator.md` lists them.
package enum SimulatorLimits {
    /// Notifications that the inbox keeps; older ones are dropped, but remain counted.
    package static let inboxItemsMax = 200_000
    /// Bytes of headers and payloads that the inbox keeps.
    package static let inboxBytesMax = 256 << 20
    /// Payloads that fast mode keeps.
    package static let recentItemsMax = 1_000
    /// Bytes of a payload that fast mode keeps.
    package static let recentPayloadBytesMax = 5_120
    /// Devices with their own counters; further ones count only in the totals.
    package static let devicesCountedMax = 10_000_000
    /// Pairs of device and `apns-id` that are remembered to recognize a duplicate (strict mode).
    package static let pairsRememberedMax = 4_000_000
    /// Different reasons in the summary; further ones count as `other`.
    package static let reasonsMax = 256
    /// Items of one `GET /inbox` answer.
    package static let inboxPageItemsMax = 10_000
    /// Items of one `GET /inbox` answer without a limit.
    package static let inboxPageItemsDefault = 100
    /// Bytes of a request body of the control interface.
    package static let controlBodyBytesMax = 1 << 20
    /// Faults, and marks of devices, that are held at once.
    package static let devicesMarkedMax = 200_000
    /// Rules of one script.
    package static let scriptRulesMax = 1_000
    /// Devices whose attempts a rule counts; beyond that, all counts restart.
    package static let attemptsRememberedMax = 1_000_000
    /// Provider keys that are known at once.
    package static let providerKeysMax = 10_000
    /// Verified provider tokens that are remembered.
    package static let verifiedTokensMax = 1_024
    /// Hexadecimal digits of a device token (Apple does not fix the length).
    package static let deviceTokenDigits = 16...400
    /// Bytes of an ordinary payload.
    package static let payloadBytesMax = 4_096
    /// Bytes of a VoIP payload.
    package static let voipPayloadBytesMax = 5_120
    /// Bytes of a collapse id.
    package static let collapseIDBytesMax = 64
    /// Lifetime of a provider token in seconds.
    package static let providerTokenLifeSeconds: Int64 = 3_600
    /// Minimum seconds between two new provider tokens on one connection.
    package static let providerTokenPauseSeconds: Int64 = 1_200
    /// Seconds that a provider token may be ahead of the clock.
    package static let providerTokenAheadSeconds: Int64 = 60
    /// Provider tokens that a connection remembers.
    package static let connectionTokensMax = 64
    /// Concurrent streams after the first valid provider token.
    package static let streamsMax = 1_000
    /// Bytes of a request body; larger requests are refused.
    package static let requestBodyBytesMax = 65_536
    /// Bytes of decoded request headers.
    package static let headerListBytesMax = 16_384
    /// Milliseconds that a fault may delay an answer.
    package static let delayMillisecondsMax: Int64 = 600_000
    /// Milliseconds between a GOAWAY and the end of its connection.
    package static let goAwayGraceMilliseconds: Int64 = 500
    /// Milliseconds that a closing connection waits for the client's TLS close_notify.
    package static let tlsFarewellMilliseconds: Int64 = 250
    /// Steps of one sequence of faults.
    static let sequenceStepsMax = 1_000
    /// Tokens expired by faults that are remembered.
    static let expiredCredentialsMax = 10_000
    /// Seconds that a fault may set the clock ahead or behind.
    static let skewSeconds: ClosedRange<Int64> = -1_000_000_000...1_000_000_000
    /// Concurrent streams on networks other than APNs.
    static let ordinaryStreamsMax = 100
    /// Bytes of a device's name: a token, a channel URI or an endpoint.
    static let deviceNameBytesMax = 4_096
    /// Bytes of a device's name that fast mode keeps.
    static let recentDeviceBytesMax = 1_024
    /// Broadcast channels of one app in one environment.
    static let channelsPerAppMax = 10_000
    /// Bytes of a channel's id.
    static let channelIDBytesMax = 256
    /// Bytes of a broadcast's payload.
    static let broadcastPayloadBytesMax = 5_120
    /// Default error points after which APNs closes a connection.
    package static let errorsPerConnectionMax = 1_000
    /// Access tokens that are known at once.
    static let accessTokensMax = 10_000
    /// Default lifetime of access tokens of FCM in seconds.
    package static let accessTokenLifeSeconds: Int64 = 3_599
    /// Maximum lifetime of an assertion for an access token in seconds.
    static let assertionLifeSeconds: Int64 = 3_600
    /// Seconds that the clocks of a sender and of Google's token endpoint may differ.
    static let assertionSkewSeconds: Int64 = 60
    /// Topics of one condition.
    static let conditionTopicsMax = 5
    /// Bytes of a payload of FCM to a topic.
    static let topicPayloadBytesMax = 2_048
    /// Lifetime of an FCM message for Android in seconds.
    static let androidLifeSeconds: ClosedRange<Int64> = 0...2_419_200
    /// Bytes of a payload of WNS.
    static let wnsPayloadBytesMax = 5_000
    /// Bytes of a payload of MPNS, and of a raw one.
    static let mpnsPayloadBytesMax = 3_072
    static let mpnsRawBytesMax = 1_024
    /// Notifications per day that a channel of MPNS accepts from a sender without a certificate.
    static let mpnsNotificationsPerDayMax = 500
    /// Bytes of a body of Web Push.
    static let webPushBodyBytesMax = 4_096
    /// Characters of a topic of Web Push.
    static let webPushTopicMax = 32
    /// Maximum lifetime of a Web Push message in seconds.
    static let webPushLifeSecondsMax: Int64 = 2_592_000
    /// Maximum lifetime of a VAPID token in seconds.
    static let vapidLifeSeconds: Int64 = 86_400
    /// Subscriptions of Web Push that are known at once.
    static let subscriptionsMax = 200_000
    /// Days that the certificates are valid.
    package static let certificateLifeDays = 30
}
