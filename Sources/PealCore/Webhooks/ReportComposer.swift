/// Composes the content of one kind of webhook: reports of ended messages, and notices about moments and devices. A
/// dialect has one for each kind of webhook in its format.
package protocol ReportComposer: Sendable {
    var form: Webhook.Form { get }
    /// Whether these webhooks receive the reports of that dialect's ended messages.
    func reportsEnds(of dialect: DialectName) -> Bool
    /// Whether these webhooks receive notices about the moments of that dialect's messages.
    func reportsMoments(of dialect: DialectName) -> Bool
    /// - Returns: the document; nil if these facts are not enough for one, in which case the delivery fails as
    ///   `NoReport`.
    func report(_ facts: MessageFacts) -> JSON?
    /// Called in the transaction that changes the status.
    func notice(_ status: MomentStatus) -> ReportNotice?
    /// Called in the transaction that changes the device's class.
    /// - Parameter id: the event's id, by which receivers recognize a repetition.
    func notice(_ transition: DeviceTransition, id: OutboxEventID) -> ReportNotice?
}

extension ReportComposer {
    package func reportsEnds(of dialect: DialectName) -> Bool { false }
    package func reportsMoments(of dialect: DialectName) -> Bool { false }
    package func report(_ facts: MessageFacts) -> JSON? { nil }
    package func notice(_ status: MomentStatus) -> ReportNotice? { nil }
    package func notice(_ transition: DeviceTransition, id: OutboxEventID) -> ReportNotice? { nil }
}

/// The report to authors when one user's message changes its status on a device.
package struct MomentStatus: Sendable, Hashable {
    package var moment: Moment
    package var status: Moment.Status
    package var campaignID: String?
    /// The address of the device, as the app registered it; nil if no device had the message.
    package var deviceAddress: String?
    /// The author's own content (`MessageDraft.source`).
    package var source: [UInt8]?
    package var at: Timestamp

    package init(
        moment: Moment, status: Moment.Status, campaignID: String?, deviceAddress: String?, source: [UInt8]?,
        at: Timestamp
    ) {
        self.moment = moment
        self.status = status
        self.campaignID = campaignID
        self.deviceAddress = deviceAddress
        self.source = source
        self.at = at
    }
}

/// A device's class changed.
package struct DeviceTransition: Sendable, Hashable {
    package var app: AppKey
    package var device: Device
    package var bundleID: String?
    package var previous: DeviceClassification
    package var current: DeviceClassification
    package var at: Timestamp

    package init(
        app: AppKey, device: Device, bundleID: String?, previous: DeviceClassification, current: DeviceClassification,
        at: Timestamp
    ) {
        self.app = app
        self.device = device
        self.bundleID = bundleID
        self.previous = previous
        self.current = current
        self.at = at
    }
}

/// One item for a webhook, and the type of its event.
package struct ReportNotice: Sendable, Hashable {
    package let type: String
    package let item: JSON

    package init(type: String, item: JSON) {
        self.type = type
        self.item = item
    }
}

/// The composers of all dialects, from which the store and the courier get the content of webhooks.
package struct ReportComposers: Sendable {
    package let all: [any ReportComposer]

    package init(_ all: [any ReportComposer]) { self.all = all }

    package subscript(kind: Webhook.Kind) -> (any ReportComposer)? { all.first { $0.form.kind == kind } }

    /// The kinds of webhooks that receive the reports of that dialect's ended messages.
    package func kinds(reportingEndsOf dialect: DialectName) -> [Webhook.Kind] {
        all.filter { $0.reportsEnds(of: dialect) }.map(\.form.kind)
    }
}

extension Webhook {
    /// The form of requests to one kind of webhook, and when they are sent.
    package struct Form: Sendable, Hashable {
        package var kind: Kind
        package var body: Body
        package var naming: Naming
        /// The header that carries a plain secret; nil if this kind of webhook does not support that.
        package var secretHeader: String?
        /// How many events may share a request.
        package var itemsPerRequestMax: Int
        /// How long the first event of a request waits for others.
        package var gathering: Duration
        /// How many requests to one webhook each server may have in flight. With 1 they arrive in order, because
        /// another server waits until none is in flight.
        package var requestsInFlightMax: Int

        package init(
            kind: Kind, body: Body, naming: Naming, secretHeader: String? = nil, itemsPerRequestMax: Int = 1,
            gathering: Duration = .zero, requestsInFlightMax: Int = Limits.webhookRequestsInFlightMax
        ) {
            self.kind = kind
            self.body = body
            self.naming = naming
            self.secretHeader = secretHeader
            self.itemsPerRequestMax = itemsPerRequestMax
            self.gathering = gathering
            self.requestsInFlightMax = requestsInFlightMax
        }

        package enum Body: Sendable, Hashable {
            /// Only the item.
            case item
            /// An array of items.
            case array
            /// The form of Standard Webhooks: `{type, timestamp, data}`.
            case event
        }

        /// The headers by which a receiver recognizes a repetition: they are the same in every attempt.
        package enum Naming: Sendable, Hashable {
            /// The headers of Standard Webhooks 1.0.
            case standard
            /// Headers with these names for the id and, if not nil, for the type of the events.
            case headers(id: String, type: String?)
        }
    }
}
