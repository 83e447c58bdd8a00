/// How a pool speaks to one of its connections, from any thread.
struct ConnectionHandle: Sendable {
    /// There is work.
    let wake: @Sendable () -> Void
    /// Begin nothing more and go when everything is answered.
    let finish: @Sendable () -> Void
    /// Go at once.
    let abort: @Sendable () -> Void
}
