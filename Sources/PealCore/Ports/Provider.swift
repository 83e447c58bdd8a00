internal import Synchronization

/// A client of a push network: renders messages into the network's requests, and sends pages of them.
package protocol Provider: Sendable {
    /// The network's broadcast channels; nil if it has none.
    var channelDirectory: (any ChannelDirectory)? { get }

    /// Renders one variant. A pure function.
    /// - Throws: `payload_too_large` or `invalid_field`, naming the field.
    func render(_ order: RenderOrder) throws(ContentRefusal) -> Notification

    /// Checks a credential without using it. Returns the form to store and the facts that may be shown.
    /// - Throws: `invalid_field`, naming the field.
    func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination

    /// Checks an address beyond its form, such as that a public key is a point on its curve.
    /// - Throws: `invalid_field` with a field path beginning with `address`.
    func check(_ address: Address) throws(PealError)

    /// The network's own reasons, which metrics may name. Others count as `other`.
    var reasons: Set<String> { get }

    /// Whether the reason may mean that the address belongs to the network's other environment.
    func doubtsEnvironment(_ reason: String) -> Bool

    /// Accepts a page and returns immediately. The answers go to `order.flight`, exactly one for each device.
    func send(_ order: PageOrder)

    /// Sends a harmless request with the credential and returns the result.
    /// - Parameter fingerprint: Identifies the credential's connections, as in `PageOrder`.
    func verify(_ credential: Credential, fingerprint: String, environment: Environment) async
        -> CredentialVerification

    /// Lets the connections of the credential with that fingerprint finish, then closes them, because the credential
    /// was replaced or removed.
    func drain(fingerprint: String)

    /// Divides limits of the push network that count the requests of all servers together.
    /// - Parameter servers: how many servers send; at least 1.
    func share(among servers: Int)

    /// Closes every connection. Devices without an answer in open pages get `unsent` or `lost`.
    func close() async
}

extension Provider {
    package var channelDirectory: (any ChannelDirectory)? { nil }
    package func check(_ address: Address) throws(PealError) {}
    package func doubtsEnvironment(_ reason: String) -> Bool { false }
}

/// A signed token for a push network, as the servers on one database share it.
package struct SharedToken: Sendable, Hashable {
    package let value: [UInt8]
    package let issuedAt: Timestamp

    package init(_ value: [UInt8], issuedAt: Timestamp) {
        self.value = value
        self.issuedAt = issuedAt
    }
}

/// The input for rendering one variant of a message. Preview and engine create it from the same job, so that a preview
/// shows the bytes that are sent.
package struct RenderOrder: Sendable {
    package let message: MessageID
    package let content: Content
    /// The effective options on this platform.
    package let options: MessageOptions
    /// The content's locale; nil if nothing is localized.
    package var locale: String?
    package let route: Route
    /// The credential's `Credential.providerAppID`.
    package let providerAppID: String
    /// `PlatformLife.expiresAt`.
    package let expiresAt: Timestamp
    /// When it is sent. A lifetime in seconds counts from here.
    package let now: Timestamp
    /// When sending the message started, the same for every repetition; never after `now`.
    package let startedAt: Timestamp

    /// The order for one route with one credential.
    package init(_ job: DeliveryJob, route: Route, providerAppID: String, locale: String? = nil, now: Timestamp) {
        let options = job.options(on: route.platform)
        self.init(
            message: job.message.id, content: job.content, options: options, locale: locale, route: route,
            providerAppID: providerAppID, expiresAt: job.life.under(options).expiresAt, now: now,
            startedAt: max(job.message.startAt ?? job.message.createdAt, job.message.createdAt))
    }

    package init(
        message: MessageID, content: Content, options: MessageOptions, locale: String?, route: Route,
        providerAppID: String, expiresAt: Timestamp, now: Timestamp, startedAt: Timestamp? = nil
    ) {
        self.message = message
        self.content = content
        self.options = options
        self.locale = locale
        self.route = route
        self.providerAppID = providerAppID
        self.expiresAt = expiresAt
        self.now = now
        self.startedAt = min(now, startedAt ?? now)
    }

    /// A text of the content in the order's locale.
    package func text(_ text: LocalizedText?) -> String? {
        text?.text(for: locale, fallback: content.defaultLocale)
    }

    /// The time until which the network may store the notification; nil if it must not store it.
    package var keptUntil: Timestamp? { options.life?.isOneAttempt == true ? nil : expiresAt }
}

/// A page for a provider to send. Immutable, so that connections on any thread read it without a lock.
package final class PageOrder: Sendable {
    package let slice: Slice.ID
    package let credential: Credential
    /// Identifies the credential's connection pools without revealing it.
    package let fingerprint: String
    package let page: DevicePage
    package let notifications: [Notification]
    /// The index into `notifications` for each device of the page.
    package let variants: [UInt16]
    package let lane: Slice.Lane
    /// By `TimeSource.uptime`: no request may start later.
    package let deadline: Duration
    /// Stops the page when the message is paused or cancelled, or the server stops: no further request may start.
    package let control: SendControl
    package let flight: PageFlight

    package init(
        slice: Slice.ID, credential: Credential, fingerprint: String, page: DevicePage,
        notifications: [Notification], variants: [UInt16], lane: Slice.Lane, deadline: Duration, control: SendControl
    ) {
        precondition(page.count == variants.count)
        self.slice = slice
        self.credential = credential
        self.fingerprint = fingerprint
        self.page = page
        self.notifications = notifications
        self.variants = variants
        self.lane = lane
        self.deadline = deadline
        self.control = control
        flight = PageFlight(count: page.count)
    }
}

/// Signals all connections that work for a slice to start no further request. It cannot be undone: a resumed message
/// gets a new control.
package final class SendControl: Sendable {
    private let stopped = Atomic(false)

    package init() {}

    package var isStopped: Bool { stopped.load(ordering: .relaxed) }
    package func stop() { stopped.store(true, ordering: .relaxed) }
}
