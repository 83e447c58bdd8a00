/// The peer broke the protocol: this connection ends, with a GOAWAY that says why, and no other one is touched.
struct HTTP2Fault: Error, Hashable {
    let code: HTTP2Code
    /// For the log; never holds bytes of the peer.
    let reason: String

    init(_ code: HTTP2Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
