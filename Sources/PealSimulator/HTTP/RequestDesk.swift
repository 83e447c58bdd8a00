/// Where the requests of a listener go. The handlers of its connections only carry the replies out.
protocol RequestDesk: Sendable {
    /// The concurrent streams that a new HTTP/2 connection allows.
    var streamsAtFirst: Int { get }
    /// Bytes of a request body that are kept.
    var bodyBytesMax: Int { get }

    /// Deals with `request`, which came on the connection that `memory` belongs to.
    func receive(_ request: PushRequest, memory: inout ConnectionMemory) -> Reply
}

extension RequestDesk {
    var streamsAtFirst: Int { SimulatorLimits.streamsMax }
    var bodyBytesMax: Int { SimulatorLimits.requestBodyBytesMax }
}
