/// Composes what webhooks of one kind are sent: reports of messages that have ended, and notices of what happens to
/// moments and devices. A dialect has one for each kind of webhook that speaks its words.
package protocol ReportComposer: Sendable {
    var form: Webhook.Form { get }
    /// Whether these webhooks are sent the report of an ended message of that dialect.
    func reportsEnds(of dialect: DialectName) -> Bool
    /// Whether these webhooks are sent notices of the moments of that dialect's messages.
    func reportsMoments(of dialect: DialectName) -> Bool
    /// - Returns: the document; nil when it cannot be made of these facts, and then the delivery fails as `NoReport`.
    func report(_ facts: MessageFacts) -> JSON?
    /// Called inside the transaction that makes it true.
    func notice(_ status: MomentStatus) -> ReportNotice?
    /// Called inside the transaction that makes it true.
    /// - Parameter id: the event's own, by which a repetition is recognized.
    func notice(_ transition: DeviceTransition, id: OutboxEventID) -> ReportNotice?
}

extension ReportComposer {
    package func reportsEnds(of dialect: DialectName) -> Bool { false }
    package func reportsMoments(of dialect: DialectName) -> Bool { false }
    package func report(_ facts: MessageFacts) -> JSON? { nil }
    package func notice(_ status: MomentStatus) -> ReportNotice? { nil }
    package func notice(_ transition: DeviceTransition, id: OutboxEventID) -> ReportNotice? { nil }
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

/// The composers of all dialects: the one port through which store and courier learn what webhooks are sent.
package struct ReportComposers: Sendable {
    package let all: [any ReportComposer]

    package init(_ all: [any ReportComposer]) { self.all = all }

    package subscript(kind: Webhook.Kind) -> (any ReportComposer)? { all.first { $0.form.kind == kind } }

    /// The kinds of webhooks that are sent the report of an ended message of that dialect.
    package func kinds(reportingEndsOf dialect: DialectName) -> [Webhook.Kind] {
        all.filter { $0.reportsEnds(of: dialect) }.map(\.form.kind)
    }
}

extension Webhook {
    /// How requests to webhooks of one kind look, and when they are sent.
    package struct Form: Sendable, Hashable {
        package var kind: Kind
        package var body: Body
        package var naming: Naming
        /// The header that carries a secret as it is; nil where webhooks of this kind cannot be authenticated so.
        package var secretHeader: String?
        /// Events that share a request.
        package var itemsPerRequestMax: Int
        /// How long the first event of a request waits for others.
        package var gathering: Duration
        /// Requests to one webhook at once. With 1 they arrive in order.
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
            /// The item alone.
            case item
            /// An array of items.
            case array
            /// As Standard Webhooks has it: `{type, timestamp, data}`.
            case event
        }

        /// The headers by which a receiver recognizes a repetition: they are the same in every attempt.
        package enum Naming: Sendable, Hashable {
            /// Those of Standard Webhooks 1.0.
            case standard
            /// Headers of these names for the id and, where given, for the type of the events.
            case headers(id: String, type: String?)
        }
    }
}
