/// The limits of delivery windows, of devices with the SDK, of their wake-up pushes, and of the models of moments.
extension Limits {
    // Delivery windows
    package static let momentUsersMax = 1000
    package static let windowSecondsMax: Int64 = 7 * 24 * 3600
    package static let claimSeconds: Int64 = 600
    /// How long after the delivery window Peal waits for the receipt of a device that claimed the message.
    package static let momentRecoverySeconds: Int64 = 24 * 3600
    /// The minimum time for which an alert to a device that did not confirm is tried, even if the message has ended.
    package static let recoveryAlertSeconds: Int64 = 3600
    /// How long the same request with the same key counts as a repetition.
    package static let momentRepetitionSeconds: Int64 = 24 * 3600
    package static let settingMinutesMax: Int64 = 7 * 24 * 60
    package static let keyAppsMax = 100

    // Device API
    package static let deviceBodyBytesMax = 256 * 1024
    package static let deviceEventsMax = 200
    package static let deviceEventAgeSeconds: Int64 = 30 * 24 * 3600
    /// How long the ids of events are remembered.
    package static let deviceEventMemorySeconds: Int64 = 31 * 24 * 3600
    /// How long shared contexts are kept.
    package static let contextSampleSeconds: Int64 = 30 * 24 * 3600
    package static let contextSnapshotBytesMax = 40
    package static let contextTraceBytesMax = 1280
    package static let heldMessagesMax = 256
    package static let heldModelsMax = 256
    package static let reportedWakesMax = 64
    package static let syncMessagesMax = 50
    /// How many of a user's open moments one sync reads.
    package static let syncMomentsRead = 300
    package static let registrationsPerMinute = 60
    package static let requestsPerDevicePerMinute = 240

    // Wake-up pushes
    package static let wakeIntervalSeconds: Int64 = 1800
    package static let wakeJitterSeconds: Int64 = 300
    package static let wakeSpacingSeconds: Int64 = 1200
    /// A device gets at most two wake-ups in this time.
    package static let wakeBudgetSeconds: Int64 = 3600
    /// How long after it was counted a wake-up may arrive. It may wait for its network for half of this time. The
    /// budget limits arrivals.
    package static let wakeLatenessSeconds: Int64 = 10
    /// How long a device may take to answer a wake-up that asks for a sync.
    package static let wakeAnswerSeconds: Int64 = 300
    package static let wakeMessagesMax = 32
    /// After this many wake-ups without a sync, the next one asks for one.
    package static let wakesUncountedMax: Int64 = 8
    package static let wakesPerRound = 256
    /// How long a wake-up waits if its route has earlier ones without an answer.
    package static let wakeBusySeconds: Int64 = 5
    package static let wakeRoutesAwaitedMax = 1024
    /// How many of an app's newest devices are used to estimate how often wake-ups reach a device with little history.
    package static let cohortDevicesMax = 1000
    /// How long that estimate is used.
    package static let cohortSeconds: Int64 = 60
    package static let reachHalfLifeSeconds: Int64 = 3 * 24 * 3600
    /// When a user has this many opens, all of the user's counters are halved.
    package static let opensPerUserMax = 400
    /// How many opens of one user count towards the sum of all users: fewer than remain after a halving.
    package static let opensPerUserForAllMax = 100
    /// The minimum time between two messages that a device shows at moments of its choice.
    package static let displaySpacingSeconds: Int64 = 7200

    // Moment models
    package static let modelLifeSeconds: Int64 = 60 * 24 * 3600
    /// How long after a display an open still counts for the model.
    package static let labelMaturitySeconds: Int64 = 24 * 3600
    /// How many models of a campaign are kept, for rollbacks.
    package static let modelVersionsMax = 5
    package static let modelsPerSyncMax = 8
    /// How long no training replaces a model that was rolled back to.
    package static let modelHoldSeconds: Int64 = 7 * 24 * 3600
    /// The minimum time between two checks of an app's labels.
    package static let learningIntervalSeconds: Int64 = 3600
    /// The minimum time between two trainings of a campaign that has few new labels.
    package static let trainingIntervalSeconds: Int64 = 24 * 3600
    /// How many labels of an app one check reads, the newest first.
    package static let labelsMax = 100_000
    /// Soft messages that a training evaluates.
    package static let journeysMax = 20_000
    package static let labelsPerRead = 2000
    package static let campaignsPerRead = 200
    /// How many users' habits one check reads.
    package static let countersMax = 2000
}
