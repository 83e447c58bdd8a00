/// All limits of the server, with their units in their names. `docs/configuration.md` lists them; a test compares both.
package enum Limits {
    // Requests
    package static let requestBodyBytesMax = 4 * 1024 * 1024
    package static let jsonDepthMax = 64
    package static let jsonValuesMax = 200_000
    /// How much of a body is read before its caller is known, if the body itself names the caller.
    package static let unknownCallerBodyBytesMax = 64 * 1024
    /// The same for a body that has not named its secret yet, or its app if several apps have keys with that secret:
    /// the largest audience of a devtodev push may come before them.
    package static let unnamedCallerBodyBytesMax = 1024 * 1024
    /// The largest body of a request that may be handled on the event loop of its connection. Most pushes fit.
    package static let briefBodyBytesMax = 4 * 1024
    /// Bodies up to this size are parsed immediately; larger ones wait for their turn.
    package static let parsedAtOnceBytesMax = 64 * 1024
    package static let parsingsAtOnceMax = 2
    package static let parsingsWaitingMax = 256
    /// For all bodies that are being received, and for those of callers that are not known yet.
    package static let bodyBytesHeldMax = 256 * 1024 * 1024
    package static let unknownBodyBytesHeldMax = 32 * 1024 * 1024
    /// One client network, or one app, may hold at most one part in this many of both budgets.
    package static let bodyBudgetShares = 4
    package static let credentialExaminationsWaitingMax = 64
    package static let idempotencyKeyCharactersMax = 255
    package static let idempotencyLifeSeconds: Int64 = 24 * 3600
    package static let listItemsMax = 200
    /// Rows of a list that cannot be read.
    package static let listRowsSkippedMax = 200
    package static let listItemsDefault = 50
    /// A page of a list ends with the item that reaches this.
    package static let listBytesMax = 8 * 1024 * 1024

    /// For lists with numbered pages.
    package static let pageItemsMax = 50
    package static let pageItemsDefault = 20
    /// How many rows a substring search reads.
    package static let searchedRowsMax = 100_000
    /// For lists without pages.
    package static let unpagedItemsMax = 10_000
    package static let schedulesListedMax = 1000

    // Names and texts
    /// Longer names of members and parameters are shortened in errors, which name only so many unknown ones.
    package static let errorNameBytesMax = 255
    package static let errorNamesMax = 10
    package static let nameCharactersMax = 255
    /// 255 characters of up to four bytes.
    package static let topicBytesMax = 1020
    package static let userIDBytesMax = 1020
    package static let attributesBytesMax = 4096
    package static let localeCharactersMax = 35
    package static let timeZoneCharactersMax = 64
    package static let privateKeyBytesMax = 16 * 1024
    package static let certificatesBytesMax = 16 * 1024
    /// For a PKCS#12 archive in base64.
    package static let archiveCharactersMax = 64 * 1024
    package static let secretBytesMax = 1024
    package static let vapidKeysMax = 16
    package static let adminsMax = 100
    /// How many days before a certificate expires Peal warns.
    package static let expiryWarningDays: [Int64] = [30, 14, 7]
    /// How many credentials of all apps the metrics, `/readyz` and the expiry watch list, the most urgent first.
    package static let credentialsListedMax = 1000
    package static let signedUserIDBytesMax = 4608

    // Audiences
    package static let audienceDevicesMax = 10_000
    package static let audienceUsersMax = 10_000
    package static let audienceTopicsMax = 1024
    package static let audienceAddressesMax = 1000
    /// Limits of a condition as a request contains it, and once its segments are resolved.
    package static let conditionsMax = 256
    package static let conditionDepthMax = 16
    package static let conditionsResolvedMax = 1024
    package static let conditionDepthResolvedMax = 64
    package static let conditionValuesMax = 1000
    package static let conditionBytesMax = 64 * 1024
    package static let conditionBytesResolvedMax = 256 * 1024
    /// Devices times conditions that planning a message evaluates: the writer waits meanwhile.
    package static let conditionTestsWhilePlanningMax = 200_000
    package static let conditionDaysMax: Int64 = 3650
    package static let segmentsPerAppMax = 1000
    package static let devicesPerBatchMax = 1000
    /// Each change is several rows, and a batch is one transaction, for which other writers wait.
    package static let topicChangesPerBatchMax = 50_000
    package static let topicsPerBatchMax = 1024
    package static let topicLifeSecondsMin: Int64 = 60
    package static let topicsPerDeviceMax = 1024
    package static let devicesPerAppMax = 10_000_000

    // Addresses
    package static let apnsTokenCharactersMin = 16
    package static let apnsTokenCharactersMax = 400
    package static let addressBytesMax = 4096
    package static let channelIDBytesMax = 255
    package static let endpointURIBytesMax = 2048

    // Messages
    package static let messageLifeSecondsDefault: Int64 = 28 * 24 * 3600
    package static let localesPerMessageMax = 200
    /// A message in more locales is not rendered on an event loop before it is accepted.
    package static let localesRenderedBrieflyMax = 8
    /// How many bytes of refused payloads are rendered for a platform before the rest is skipped.
    package static let refusedBytesPerPlatformMax = 1024 * 1024
    /// Refused requests, and the largest payload, whose fields are measured one by one.
    package static let measuredRequestsMax = 16
    package static let measuredPayloadBytesMax = 64 * 1024
    /// How often a change starts again because another one came first.
    package static let changeAttemptsMax = 4
    package static let variantsPerMessageMax = 512
    package static let variantBytesPerMessageMax = 8 * 1024 * 1024
    package static let apnsPayloadBytesMax = 4096
    package static let apnsVoIPPayloadBytesMax = 5120
    package static let apnsBroadcastPayloadBytesMax = 5120
    package static let apnsCollapseIDBytesMax = 64

    package static let ttlSecondsMax: Int64 = 10 * 365 * 24 * 3600
    package static let imageURLBytesMax = 2048
    package static let testDevicesMax = 100
    package static let overviewCharactersMax = 200
    package static let overviewNamesMax = 5
    package static let searchedTextCharactersMax = 2000
    package static let timelineMessagesMax = 2000
    package static let statisticsItemsMax = 5000
    package static let statisticsMinutesLifeSeconds: Int64 = 2 * 24 * 3600
    package static let statisticsHoursLifeSeconds: Int64 = 90 * 24 * 3600
    package static let statisticsDaysLifeSeconds: Int64 = 5 * 366 * 24 * 3600
    package static let progressStreamsMax = 256
    package static let progressStreamsPerAppMax = 32
    package static let progressMilliseconds: Int64 = 500
    package static let progressClosingMilliseconds: Int64 = 50
    package static let progressPingSeconds: Int64 = 5
    package static let progressStreamSeconds: Int64 = 3600

    // Delivery
    package static let rangeKeys: Int64 = 65_536
    package static let rangeKeysMin: Int64 = 4096
    package static let pageDevicesMax = 2048
    package static let pageDevicesPerSlot = 1024
    package static let pagesInFlightMax = 16
    package static let pagesInFlightPerSliceMax = 2
    package static let pagesStalledMax = 48
    package static let slicesStalledMax = 48
    package static let directDevicesMax = 128
    package static let directPageDevicesMax = 16
    package static let directPagesInFlightPerSliceMax = 8
    package static let directDevicesInFlightMax = 1024
    package static let directDevicesStalledMax = 4096
    package static let listSliceKeysMax = 8192
    package static let leaseSeconds: Int64 = 30
    package static let heartbeatSeconds: Int64 = 10
    package static let requestTimeoutSeconds: Int64 = 15
    package static let stragglerMilliseconds: Int64 = 500
    package static let directSettleMilliseconds: Int64 = 200
    package static let attemptsMax = 700
    package static let lostAttemptsMax = 12
    package static let drainSeconds: Int64 = 20
    package static let logRowBytesMax = 3900
    package static let logRowDevicesMax = 65_536
    package static let logReasonBytesMax = 64
    package static let slicesActiveMax = 16
    package static let slicesExpressMax = 8
    package static let directSlicesActiveMax = 256
    package static let directSlicesStalledMax = 4096
    package static let directRouteStalledMin = 8
    package static let directSlicesWaitingMax = 4096
    package static let stragglerPageDevicesMax = 65_536
    package static let probeDevicesMax = 16
    package static let probeMessagesMax = 4
    package static let probeSeconds: Int64 = 30
    package static let routesPerWalk = 64
    package static let routeSlicesRead = 10_000
    package static let routesMeasured = 100
    package static let censusMax = 100_000
    package static let messageTextsCachedMax = 20_000
    package static let recentReadsMax = 2000
    package static let oneAttemptSeconds: Int64 = 900
    /// How long a device waits at a time, for a retry or because of rules, which are then checked again. This covers
    /// the span in which one local time occurs in all time zones, and the quiet hours after it.
    package static let holdSecondsMax: Int64 = 72 * 3600

    package static let ratePerSecondMax: Int64 = 1_000_000
    package static let frequencyMessagesMax: Int64 = 1000
    /// 30 days.
    package static let frequencyHoursMax: Int64 = 720

    // Deletion
    package static let deletedAppWatchSeconds: Int64 = 60
    /// How long after its erasure a user is searched for messages that were in progress: longer than a claim.
    package static let erasedUserWatchSeconds: Int64 = 3600
    package static let expiredTopicLifeSeconds: Int64 = 24 * 3600
    package static let pruneRowsMin = 50
    package static let pruneRowsMax = 1000
    package static let pruneMillisecondsWanted: Int64 = 20
    package static let pruneIntervalSeconds: Int64 = 60

    // Breaker: a route of an app stops when suspicious retirements pass this share of at least this many answers.
    package static let breakerAnswersMin = 50
    package static let breakerSuspiciousShare = 0.2
    package static let breakerDeferredShare = 0.2

    // Writer
    package static let writerItemsWaitingMax = 4096
    package static let writerItemsPerCommitMax = 512
    package static let writerChangesPerCommitMax = 20_000
}

extension Limits {
    // Console
    package static let consoleIdleSeconds: Int64 = 3600
    package static let consoleSessionSeconds: Int64 = 12 * 3600
    package static let consoleFormBytesMax = 4 * 1024 * 1024
    /// The sign-in form, which is sent without a session.
    package static let consoleSignInBytesMax = 16 * 1024
    /// Fields of a form or a query of the console. A page searches all of them for each of its own fields.
    package static let consoleFormFieldsMax = 5000
    /// JSON values of a field of a form, such as a condition: a page reads them several times.
    package static let consoleJSONValuesMax = 10_000
    /// How long a link for signing in works.
    package static let signInLinkSeconds: Int64 = 300
    package static let growthDaysMax = 366
    /// Devices of an app that test messages go to.
    package static let starredDevicesMax = 20

    // Drafts and templates, of each kind
    package static let savedMessagesPerAppMax = 1000
    package static let savedMessageBytesMax = 128 * 1024
}

extension Limits {
    // Connections to the server
    package static let httpHandshakeSeconds = 10
    package static let httpHeadSeconds = 10
    package static let httpIdleSeconds = 180
    /// How long an HTTP/2 connection lives before the client must open another.
    package static let httpAgeSeconds = 3600
    package static let httpBytesPerSecondMin = 1024
    /// How long a body or an answer may fall short of that rate.
    package static let httpGraceSeconds = 10
    /// How long a closing connection may take.
    package static let httpCloseSeconds = 20
    /// How long requests may take to end when the server stops.
    package static let httpStopSeconds = 5
    /// Requests on an HTTP/1.1 connection whose answers the client has not waited for.
    package static let httpPipelinedRequestsMax = 256
    /// Frames of an HTTP/2 connection that are neither requests nor data.
    package static let httpSpareFramesMax = 5000
    package static let httpConnectionsMax = 10_000
    /// Connections that wait to be accepted. Beyond that, Linux drops a client's first packet, which it repeats after a
    /// second; Linux also applies its own limit, `net.core.somaxconn`.
    package static let httpBacklog = 4096
    package static let httpSurplusMax = 32
    package static let httpSurplusSeconds = 2
    package static let descriptorsMax = 65_536

    // Servers on one database
    /// How long a server counts as running after it was last seen: longer than three of its reports, so that one late
    /// write changes nothing.
    package static let serverPresenceSeconds: Int64 = 20

    /// How many locales, and how many time zones, all devices of a server may have.
    package static let wordsMax = 10_000
    /// How many of them the devices of one app may add while a server runs.
    package static let wordsPerAppMax = 2000

    // Guessing and quotas
    package static let authenticationFailuresPerMinute = 60
    package static let requestsPerKeyPerSecond = 10_000
    package static let requestsPerAppPerSecond = 20_000
    /// Iterations of a key derivation in an archive.
    package static let derivationIterationsMax = 1_000_000
    package static let derivationsMax = 16
}

extension Limits {
    // Sender
    package static let connectionsPerPoolMax = 4
    package static let streamsPerConnectionMax = 2000
    package static let connectTimeoutSeconds: Int64 = 10
    package static let reconnectMillisecondsMin: Int64 = 100
    package static let reconnectMillisecondsMax: Int64 = 30_000
    package static let providerWaitSecondsMax: Int64 = 6 * 3600
    package static let stallSeconds: Int64 = 5
    package static let slowAnswerSeconds: Int64 = 2
    package static let slowStreamsMin = 32
    package static let idlePingSeconds: Int64 = 3600
    package static let idleConnectionSeconds: Int64 = 300
    package static let resendsMax = 3
    package static let devicesPerPullMax = 64
    package static let flushBytes = 60_000
    package static let directWindowBytes = 32 * 1024
    package static let responseBodyBytesMax = 4096
    package static let responseHeaderBytesMax = 16 * 1024
    package static let quietFramesMax = 10_000
    package static let receiveWindowBytes = 8 * 1024 * 1024
    package static let outboundReplyBytesMax = 64 * 1024
    /// Interim answers (1xx) to a request over HTTP/1.1.
    package static let interimAnswersMax = 32
    /// Enough for the ids of the 10,000 channels that an app may have.
    package static let channelListBytesMax = 4 * 1024 * 1024
    package static let verificationSeconds: Int64 = 30
    package static let outboundConnectionsPerHostMax = 64
    package static let accessTokenBytesMax = 8192
    package static let outboundRequestsInFlightMax = 128
    package static let outboundOriginsHeldMax = 1024
    package static let outboundOriginsMax = 1024
    package static let outboundIdleSeconds: Int64 = 30
    package static let outboundReplyMemorySeconds: Int64 = 30
}

extension Limits {
    // Windows
    package static let wnsPayloadBytesMax = 5000
    package static let wnsTagCharactersMax = 16
    package static let mpnsPayloadBytesMax = 3072
    package static let mpnsRawBytesMax = 1024
    package static let templateFieldsMax = 32
    package static let xmlDepthMax = 64
    // Web Push
    /// What remains for the plaintext of the 4,096 bytes that every push service must accept (RFC 8030 §7.2), after
    /// header and tag.
    package static let webPushPlaintextBytesMax = 3993
    package static let webPushBridgedBytesMax = 2744
    package static let webPushTopicCharactersMax = 32
    /// Mozilla's limit.
    package static let webPushTTLSecondsMax: Int64 = 2_592_000
    /// Four weeks.
    package static let fcmTTLSecondsMax: Int64 = 2_419_200
    package static let vapidSubjectCharactersMax = 255
    package static let vapidTokensCachedMax = 1024
    package static let guardedHostsCachedMax = 64
    package static let guardedHostSeconds: Int64 = 60
    package static let guardedHostResolutionsMax = 8
    package static let paceRampSeconds: Int64 = 60
    package static let paceIdleSeconds: Int64 = 60
    package static let paceBurstsPerSecond = 20
    package static let pacePauseMillisecondsMin: Int64 = 10
    package static let fcmRatePerSecond = 8000
    package static let fcmStartRatePerSecond = 2000
    package static let fcmPayloadBytesMax = 4096
}

extension Limits {
    // Webhooks
    package static let webhooksPerAppMax = 16
    package static let webhookURLBytesMax = 2048
    package static let webhookSecretBytesMax = 1024
    package static let webhookSigningKeyBytesMin = 24
    package static let webhookSigningKeyBytesMax = 64
    package static let webhookPayloadBytesMax = 64 * 1024
    package static let webhookItemsPerRequestMax = 100
    package static let webhookBodyBytesMax = 1024 * 1024
    /// With the courier's pauses and the write of the event, a batch leaves within the five seconds that ContextPush's
    /// receivers expect.
    package static let webhookGatherSeconds: Int64 = 4
    package static let webhookPollMilliseconds: Int64 = 500
    package static let webhookTimeoutSeconds: Int64 = 15
    package static let webhookReplyBytesMax = 64 * 1024
    package static let webhookRequestsInFlightMax = 8
    package static let webhooksServedMax = 128
    package static let webhooksFailingMax = 10_000
    package static let tracedSpansWaitingMax = 16_384
    package static let tracedSpansPerRequestMax = 512
    package static let webhookRoundsMax = 64
    package static let webhookLeaseSeconds: Int64 = 60
    package static let webhookRetrySecondsMin: Int64 = 5
    package static let webhookRetrySecondsMax: Int64 = 3600
    package static let webhookRetryLifeSeconds: Int64 = 24 * 3600
    package static let webhookEventLifeSeconds: Int64 = 7 * 24 * 3600
    package static let webhookDeliveredLifeSeconds: Int64 = 7 * 24 * 3600
    package static let webhookFailedLifeSeconds: Int64 = 30 * 24 * 3600
    package static let webhookIdleConnectionSeconds: Int64 = 60
    package static let webhookResolutionsMax = 16
}

extension Limits {
    // Geofences and analytics
    package static let geofencesPerAppMax = 500
    package static let geofenceLocationsMax = 100
    package static let geofenceTagsMax = 100
    package static let geofenceDataBytesMax = 4096
    package static let geofenceCoordinateCharactersMax = 32
    package static let locationsPerAppMax = 10_000
    package static let locationGroupsPerAppMax = 1000
    package static let locationGroupLocationsMax = 1000
    package static let geofencesPageDefault = 25
    /// A year.
    package static let geofenceMemorySeconds: Int64 = 365 * 24 * 3600
    /// A year. Crossings reported for a later time are stored without it.
    package static let deviceClockAheadSecondsMax: Int64 = 365 * 24 * 3600
    package static let analyticsEventsMax = 10_000
    package static let analyticsEventsPerCommit = 500

    // Import
    package static let importRecordBytesMax = 256 * 1024
    package static let importBatchBytesMax = 2 * 1024 * 1024
    package static let importRefusalsShownMax = 100
    package static let importProgressSeconds: Int64 = 2
}
