/// One of the five networks, as far as it differs from the others: what it makes of a request, and how it puts its
/// answers. Books, faults and wires are the responder's and the handlers' business.
protocol PushService: Sendable {
    var provider: PushProvider { get }
    var environment: PushEnvironment { get }
    /// The concurrent streams that a new HTTP/2 connection allows.
    var streamsAtFirst: Int { get }

    /// Judges `request`, which came at `milliseconds` (since 1970) on the connection that `memory` belongs to.
    func judge(_ request: PushRequest, memory: inout ConnectionMemory, milliseconds: Int64) -> Judgement

    /// How the network would say what a fault wants, about the request that `acceptance` belongs to.
    func answer(_ fault: FaultAnswer, to acceptance: Acceptance) -> HTTPAnswer

    /// What the network says when a provider token or access token has expired.
    var expired: FaultAnswer { get }

    /// Last changes to a reply; `refusal` is its reason when it refuses the request.
    func conclude(_ reply: inout ConnectionReply, refusal: String?, memory: inout ConnectionMemory)
}

extension PushService {
    var environment: PushEnvironment { .production }
    var streamsAtFirst: Int { SimulatorLimits.ordinaryStreamsMax }

    func conclude(_ reply: inout ConnectionReply, refusal: String?, memory: inout ConnectionMemory) {}
}

/// What a network makes of a request.
enum Judgement: Sendable {
    /// Every check passed: so it goes on, unless a fault meets it.
    case accepted(Acceptance)
    /// The first check that failed, and what is answered.
    case refused(reason: String, HTTPAnswer)
    /// The same of a request that was to bring no notification: the inbox does not count it.
    case declined(HTTPAnswer)
}

/// A request that passed all checks: whom it is for, and what is answered when nothing comes between.
struct Acceptance: Sendable {
    var kind = RequestKind.send
    /// The device token, registration token, channel URI or endpoint; empty when it is for no device.
    var device = ""
    /// The notification's id, as the answer tells it.
    var id = ""
    var answer: HTTPAnswer
    /// The fingerprint of the provider token, access token or VAPID token that was shown.
    var credential: UInt64?
    /// What the device gets; nil when nothing is delivered.
    var item: InboxItem?
}

/// What a client wants of a network; rules of a fault script name it as `request`.
enum RequestKind: String, Sendable, CaseIterable {
    /// A notification for a device, a topic or a channel.
    case send
    /// An access token.
    case authorization = "token"
    /// A change to the channels of an app.
    case management
}
