/// What an app may choose for itself, with the defaults.
package struct AppSettings: Sendable, Hashable {
    package var pivotal = Pivotal()
    package var richie = Richie()
    package var contextpush = ContextPush()
    package var device = DeviceSDK()

    package init() {}

    package struct Pivotal: Sendable, Hashable {
        /// Whether `custom_user_id` must be a signed token.
        package var verifyCustomUserID = true
        /// Whether PUT of an unknown device makes it.
        package var upsertOnPut = true
        /// Whether payloads carry `receiptId`.
        package var sendReceipt = true
        /// Whether a `scheduleIn` beyond 30 days that divides by 1000 is read as milliseconds.
        package var scheduleInMillisHeuristic = false
        /// Whether devices in the topic `pcf.push.heartbeat` get a push each minute.
        package var heartbeat = true

        package init() {}
    }

    package struct Richie: Sendable, Hashable {
        /// Whether bodies may hold what is almost JSON.
        package var lenientJSON = false
        /// Whether links may be http.
        package var allowHTTPLinks = false

        package init() {}
    }

    package struct ContextPush: Sendable, Hashable {
        /// Of the users, how many get their message at a good moment: 0 to 1.
        package var share = 0.5

        package init() {}
    }

    package struct DeviceSDK: Sendable, Hashable {
        /// Whether a device must prove its user.
        package var verifyUserID = true

        package init() {}
    }
}
