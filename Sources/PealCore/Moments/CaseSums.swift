/// Sums over users of how often something bad happened, and how often it could have happened: all that a comparison of
/// two arms needs, without the users. The cases of one user depend on each other, so a count of cases is not enough.
package struct CaseSums: Sendable, Hashable {
    /// Users to whom it could have happened.
    package var users: Int64 = 0
    package var cases: Int64 = 0
    /// How often it could have happened.
    package var occasions: Int64 = 0
    /// The sum of each user's squared cases.
    package var squaredCases: Int64 = 0
    /// The sum of each user's cases × occasions.
    package var products: Int64 = 0
    /// The sum of each user's squared occasions.
    package var squaredOccasions: Int64 = 0

    package init() {}

    /// Users to each of whom it could have happened once, and did not.
    package init(users: Int64) {
        (self.users, occasions, squaredOccasions) = (users, users, users)
    }

    /// Cases per occasion; nil without occasions.
    package var share: Double? { occasions > 0 ? Double(cases) / Double(occasions) : nil }

    package static func + (one: CaseSums, other: CaseSums) -> CaseSums {
        var sums = one
        sums.users &+= other.users
        sums.cases &+= other.cases
        sums.occasions &+= other.occasions
        sums.squaredCases &+= other.squaredCases
        sums.products &+= other.products
        sums.squaredOccasions &+= other.squaredOccasions
        return sums
    }

    /// Adds a user. A user without occasions does not count.
    package mutating func add(cases: Int64, of occasions: Int64) { count(cases, occasions, 1) }

    /// Removes a user.
    package mutating func remove(cases: Int64, of occasions: Int64) { count(cases, occasions, -1) }

    /// Wraps instead of trapping, as `ExperimentSums` does.
    private mutating func count(_ cases: Int64, _ occasions: Int64, _ sign: Int64) {
        guard occasions > 0 else { return }
        users &+= sign
        self.cases &+= sign &* cases
        self.occasions &+= sign &* occasions
        squaredCases &+= sign &* cases &* cases
        products &+= sign &* cases &* occasions
        squaredOccasions &+= sign &* occasions &* occasions
    }
}

/// The sums over the users of an arm, for each guardrail about messages.
package struct MessageCases: Sendable, Hashable {
    /// Failed messages, among those that were delivered or failed.
    package var failed = CaseSums()
    /// Messages that people dismissed, among those that were delivered.
    package var dismissed = CaseSums()
    /// Messages after which the app was not opened for a day, among matured ones to devices that report when the app is
    /// opened: with context sharing.
    package var withoutSession = CaseSums()

    package init() {}

    /// What became of a user's messages, without those whose cancellation was requested.
    package struct User: Sendable, Hashable {
        package var failed: Int64
        package var delivered: Int64
        package var dismissed: Int64
        /// Matured messages to devices that report when the app is opened.
        package var observed: Int64
        package var withoutSession: Int64

        package init(
            failed: Int64 = 0, delivered: Int64 = 0, dismissed: Int64 = 0, observed: Int64 = 0,
            withoutSession: Int64 = 0
        ) {
            (self.failed, self.delivered, self.dismissed) = (failed, delivered, dismissed)
            (self.observed, self.withoutSession) = (observed, withoutSession)
        }

        package static func + (one: User, other: User) -> User {
            User(
                failed: one.failed &+ other.failed, delivered: one.delivered &+ other.delivered,
                dismissed: one.dismissed &+ other.dismissed, observed: one.observed &+ other.observed,
                withoutSession: one.withoutSession &+ other.withoutSession)
        }
    }

    /// Adds a user's messages to those that the sums contain of the same user.
    package mutating func add(_ messages: User, to former: User) {
        failed.remove(cases: former.failed, of: former.delivered &+ former.failed)
        dismissed.remove(cases: former.dismissed, of: former.delivered)
        withoutSession.remove(cases: former.withoutSession, of: former.observed)
        let user = former + messages
        failed.add(cases: user.failed, of: user.delivered &+ user.failed)
        dismissed.add(cases: user.dismissed, of: user.delivered)
        withoutSession.add(cases: user.withoutSession, of: user.observed)
    }
}
