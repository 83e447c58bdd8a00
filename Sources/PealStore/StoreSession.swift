internal import PealCore
internal import Synchronization

/// The store's verbs inside one transaction. Each file in `Tables` has the verbs of its tables, `Planning` those that
/// cut a message into slices and read them. A session must not outlive its transaction.
struct StoreSession: StoreWriting {
    /// What all sessions share. A class, because sessions are copied often.
    final class Context: Sendable {
        private let key: Mutex<MasterKey>
        /// May be completed with what the database stores about it.
        var masterKey: MasterKey {
            get { key.withLock { $0 } }
            set { key.withLock { $0 = newValue } }
        }
        let retention: StoreRetention
        let dialect: SQLDialect
        /// Compose what is sent to each webhook.
        let composers: ReportComposers
        /// Shows the local times of devices.
        let clock: LocalClock
        let cohorts = CohortRates()
        let newWords = NewWords()

        init(
            _ key: MasterKey, retention: StoreRetention, dialect: SQLDialect, composers: ReportComposers,
            clock: LocalClock
        ) {
            self.key = Mutex(key)
            self.retention = retention
            self.dialect = dialect
            self.composers = composers
            self.clock = clock
        }
    }

    /// How often wake-ups reach the devices of each app, as of a moment ago. All transactions share the rates, which
    /// are estimates that a rollback changes little.
    final class CohortRates: Sendable {
        private static let appsMax = 1024
        private static let life: Duration = .seconds(Limits.cohortSeconds)

        private let known = Mutex<[AppKey: (rate: Double?, readAt: Timestamp)]>([:])

        /// The rate of an app, read again if it is too old, or newer than `now` because the clock was set.
        func rate(of app: AppKey, now: Timestamp, read: () throws -> Double?) rethrows -> Double? {
            if let last = known.withLock({ $0[app] }), (.zero..<Self.life).contains(now - last.readAt) {
                return last.rate
            }
            let rate = try read()
            known.withLock { known in
                if known[app] == nil, known.count >= Self.appsMax { known = [:] }
                known[app] = (rate, now)
            }
            return rate
        }
    }

    /// Caches what this transaction has looked up. The cache ends with the transaction, so that a rollback leaves
    /// nothing outdated.
    final class Memo {
        var words: [ExactText: Int64] = [:]
        var locales: LocaleIndex?
        /// The kinds of words that have reached their limit.
        var fullKinds: Set<WordTable.Kind> = []
        var topics: [ExactText: Int64] = [:]
        /// Apps that exist.
        var apps: [AppKey: (id: AppID, devices: DeviceSeries)] = [:]
        /// The routes of an app that were not open.
        var closedRoutes: [AppKey: Set<Route>] = [:]
        /// Whether the last registered device was new, so that the next one probably is too.
        var expectsNewDevices = false
        /// Whether an app had active devices on a route, or its credential.
        var used: [ActiveRoute: Bool] = [:]
        /// Whether an app has an installation.
        var installs: [AppKey: Bool] = [:]
        /// The rules of apps.
        var rules: [AppKey: SendRules] = [:]
        /// Whether apps have a frequency cap.
        var caps: [AppKey: Bool] = [:]
        /// Whether messages of such apps count for it.
        var counted: [MessageChanges.MessageKey: Bool] = [:]
        /// Whether an app, a credential, a key or an admin was changed.
        var changesSetup = false
        /// Phases of campaigns.
        var phases: [PhaseKey: CampaignPhase] = [:]
    }

    struct PhaseKey: Hashable {
        let app: AppKey
        let campaign: ExactText
        let window: Duration
    }

    let connection: any SQLConnection
    let context: Context
    let memo = Memo()

    init(_ connection: any SQLConnection, _ context: Context) {
        self.connection = connection
        self.context = context
    }
}
