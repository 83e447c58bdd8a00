/// What is specific to a network behind one listener: how it judges a request, and what its answers look like.
/// Responder and handlers do the rest: counting, faults and connections.
protocol PushService: Sendable {
    var provider: PushProvider { get }
    var environment: PushEnvironment { get }
    /// The number of concurrent streams on a new HTTP/2 connection.
    var streamsAtFirst: Int { get }

    /// Judges `request`, received at `milliseconds` (since 1970). `memory` is that of its connection.
    func judge(_ request: PushRequest, memory: inout ConnectionMemory, milliseconds: Int64) -> Judgement

    /// The network's answer to the accepted request for `fault`.
    func answer(_ fault: FaultAnswer, to acceptance: Acceptance) -> HTTPAnswer

    /// The answer to an expired provider token or access token.
    var expired: FaultAnswer { get }

    /// Last changes to a reply; `refusal` is its reason when it refuses the request.
    func conclude(_ reply: inout ConnectionReply, refusal: String?, memory: inout ConnectionMemory)
}

extension PushService {
    var environment: PushEnvironment { .production }
    var streamsAtFirst: Int { SimulatorLimits.ordinaryStreamsMax }

    func conclude(_ reply: inout ConnectionReply, refusal: String?, memory: inout ConnectionMemory) {}
}

/// A network's judgement of a request.
enum Judgement: Sendable {
    /// All checks passed. The request is accepted unless a fault applies.
    case accepted(Acceptance)
    /// The first check that failed, and the answer.
    case refused(reason: String, HTTPAnswer)
    /// The same for a request without a notification, which the inbox does not count.
    case declined(HTTPAnswer)
}

/// A request that passed all checks, and its answer unless a fault applies.
struct Acceptance: Sendable {
    var kind = RequestKind.send
    /// The device token, registration token, channel URI or endpoint; empty when it is for no device.
    var device = ""
    /// The notification's id, as in the answer.
    var id = ""
    var answer: HTTPAnswer
    /// The fingerprint of the request's provider token, access token or VAPID token.
    var credential: UInt64?
    /// What the device gets; nil when nothing is delivered.
    var item: InboxItem?
}

/// The kind of request, `request` in the rules of a fault script.
enum RequestKind: String, Sendable, CaseIterable {
    /// A notification for a device, a topic or a channel.
    case send
    /// An access token.
    case authorization = "token"
    /// A change to the channels of an app.
    case management
}
