/// The data of a campaign's experiment: the users' matured messages by their planned arm, whatever happened to them,
/// and how messages reached users. Messages that were pruned count too.
package struct ExperimentFacts: Sendable, Hashable {
    package let run: ExperimentRun
    /// Users with matured messages that are not in `past`.
    package private(set) var users: [User]
    /// Sums over the users' messages that the store has added up, in ascending order of day.
    package var past: [Past] = []
    /// Whether all of its messages were pruned. A later message of the campaign begins a new experiment.
    package var isOver = false
    /// All messages of the experiment, matured or not.
    package var deliveries: [Delivery] = []
    /// Opens by arm and the time from sending the message to the open.
    package var delays: [Delay] = []
    /// The active devices of the experiment's users.
    package var devices = Devices()
    /// What must not become worse because of good moments.
    package var guards: [Arm: Guards] = [:]
    /// How earlier runs ended, oldest first.
    package var changes: [ShareChange] = []

    package init(_ run: ExperimentRun, users: [User]) {
        self.run = run
        self.users = users
    }

    /// There may be many users.
    package var withoutUsers: ExperimentFacts {
        var facts = self
        facts.users = []
        return facts
    }

    /// A user's messages whose windows ended at least a day ago, without cancelled ones.
    package struct User: Sendable, Hashable {
        package let arm: Arm
        /// In ascending order of day, each with at least one message.
        package let days: [Day]
        /// The messages of the user that are part of `ExperimentFacts.past`.
        package let past: ExperimentSums.User

        package init(arm: Arm, days: [Day], past: ExperimentSums.User = .init()) {
            self.arm = arm
            self.days = days
            self.past = past
        }
    }

    /// The sums over the users of an arm at the end of a day.
    package struct Past: Sendable, Hashable {
        /// Days since 1970, UTC.
        package let day: Int64
        package let arm: Arm
        package let sums: ExperimentSums
        package let cases: MessageCases

        package init(day: Int64, arm: Arm, sums: ExperimentSums, cases: MessageCases = .init()) {
            self.day = day
            self.arm = arm
            self.sums = sums
            self.cases = cases
        }
    }

    /// A user's messages whose windows ended on one day.
    package struct Day: Sendable, Hashable {
        /// Days since 1970, UTC.
        package let number: Int64
        package let messages: Int
        /// Messages opened at most a day after the end of their window.
        package let opens: Int

        package init(number: Int64, messages: Int, opens: Int) {
            self.number = number
            self.messages = messages
            self.opens = opens
        }
    }

    /// How many messages of an arm were delivered in one way.
    package struct Delivery: Sendable, Hashable {
        package let arm: Arm
        package let way: Way
        package let messages: Int

        package init(arm: Arm, way: Way, messages: Int) {
            self.arm = arm
            self.way = way
            self.messages = messages
        }
    }

    /// How a message reached its user. The raw value is part of the API.
    package enum Way: String, CaseIterable, Sendable, Hashable {
        /// The phone chose the moment.
        case phone = "shown_by_phone"
        /// The server sent it: immediately, or because no phone had claimed it.
        case server = "sent_by_server"
        /// It is still waiting or being sent.
        case pending
        case failed
        case cancelled
        /// The user had no device with the SDK when it was scheduled; it is in no comparison.
        case noDevice = "without_device"

        /// - Parameter isClaimed: Whether a device's claim won.
        package init(_ state: Moment.State, isClaimed: Bool, hadSDK: Bool) {
            switch state {
            case _ where !hadSDK: self = .noDevice
            case .open, .claimed, .sending, .recovering: self = .pending
            case .sent, .shown, .opened, .dismissed: self = isClaimed ? .phone : .server
            case .cancelled: self = .cancelled
            case .failed: self = .failed
            }
        }
    }

    /// Opens of an arm within one of `delayLimits`.
    package struct Delay: Sendable, Hashable {
        package let arm: Arm
        /// Index into `delayLimits`; their count for later opens.
        package let index: Int
        package let opens: Int

        package init(arm: Arm, index: Int, opens: Int) {
            self.arm = arm
            self.index = index
            self.opens = opens
        }
    }

    /// The upper bounds of the delay classes, in minutes.
    package static let delayLimits: [Int64] = [5, 15, 60, 180, 360, 720, 1440]

    /// What may become worse for the users of an arm although more messages are opened.
    package struct Guards: Sendable, Hashable {
        package var messages = MessageCases()
        /// Devices from which the app was removed since the experiment began, as long as they are stored. Each user who
        /// was assigned to the arm is one occasion.
        package var removed = CaseSums()
        /// Devices whose users do not allow notifications, among active ones with the SDK.
        package var muted = CaseSums()

        package init() {}
    }

    /// Devices by how well they are reached in the background.
    package struct Devices: Sendable, Hashable {
        package var available = 0
        package var unknown = 0
        package var unavailable = 0
        /// Devices that an API registered: phones without the SDK cannot choose moments.
        package var withoutSDK = 0

        package init() {}

        package var total: Int { available + unknown + unavailable + withoutSDK }
    }
}

/// Sums over the users of one arm: all that a comparison of arms needs, without the users.
package struct ExperimentSums: Sendable, Hashable {
    /// Users with at least one message.
    package var users: Int64 = 0
    /// Messages whose windows ended at least a day ago, without cancelled ones.
    package var messages: Int64 = 0
    /// Those opened at most a day after the end of their window.
    package var opens: Int64 = 0
    /// The sum of each user's squared messages.
    package var squaredMessages: Int64 = 0
    /// The sum of each user's messages × opens.
    package var products: Int64 = 0
    /// The sum of each user's squared opens.
    package var squaredOpens: Int64 = 0
    /// The sum of each user's expectation: messages × prior.
    package var expected: Int64 = 0
    /// The sum of each user's messages × expectation.
    package var expectedMessages: Int64 = 0
    /// The sum of each user's opens × expectation.
    package var expectedOpens: Int64 = 0
    /// The sum of each user's squared expectation.
    package var squaredExpected: Int64 = 0

    package init() {}

    /// A user's messages in the experiment.
    package struct User: Sendable, Hashable {
        package var messages: Int64
        package var opens: Int64
        /// How much more often than usual the user opened messages before the experiment, in thousandths; 0 if unknown.
        package let prior: Int64

        package init(messages: Int64 = 0, opens: Int64 = 0, prior: Int64 = 0) {
            (self.messages, self.opens, self.prior) = (messages, opens, prior)
        }
    }

    /// The prior of a user with these earlier messages. Ten more at the usual rate, 5 %, are added, because few
    /// messages say little.
    package static func prior(messages: Int64, opens: Int64) -> Int64 {
        (1000 * opens + 500) / (messages + 10) - 50
    }

    /// Adds a user. A user without messages does not count.
    package mutating func add(_ user: User) { count(user, 1) }

    /// Removes a user.
    package mutating func remove(_ user: User) { count(user, -1) }

    /// Wraps instead of trapping: with billions of messages, the report is wrong, but the server continues.
    private mutating func count(_ user: User, _ sign: Int64) {
        let (messages, opens) = (user.messages, user.opens)
        guard messages > 0 else { return }
        let expectation = messages &* user.prior
        users &+= sign
        self.messages &+= sign &* messages
        self.opens &+= sign &* opens
        squaredMessages &+= sign &* messages &* messages
        products &+= sign &* messages &* opens
        squaredOpens &+= sign &* opens &* opens
        expected &+= sign &* expectation
        expectedMessages &+= sign &* messages &* expectation
        expectedOpens &+= sign &* opens &* expectation
        squaredExpected &+= sign &* expectation &* expectation
    }
}
