/// One of the five networks, as far as it differs from the others: what it makes of a request, and how it puts its
/// answers. Books, faults and wires are the desk's and the handlers' business.
protocol PushNetwork: Sendable {
    var provider: PushProvider { get }
    var environment: PushEnvironment { get }
    /// The concurrent streams that a new HTTP/2 connection allows.
    var streamsAtFirst: Int { get }

    /// Judges `request`, which came at `milliseconds` (since 1970) on the connection that `memory` belongs to.
    func judge(_ request: PushRequest, memory: inout ConnectionMemory, milliseconds: Int64) -> Judgement

    /// How the network would say what a fault wants, about the request that `acceptance` belongs to.
    func answer(_ fault: FaultAnswer, to acceptance: Acceptance) -> Answer

    /// What the network says when a provider token or access token has expired.
    var expired: FaultAnswer { get }

    /// Last changes to a reply; `refusal` is its reason when it refuses the request.
    func conclude(_ reply: inout Reply, refusal: String?, memory: inout ConnectionMemory)
}

extension PushNetwork {
    var environment: PushEnvironment { .production }
    var streamsAtFirst: Int { SimulatorLimits.ordinaryStreamsMax }

    func conclude(_ reply: inout Reply, refusal: String?, memory: inout ConnectionMemory) {}
}
