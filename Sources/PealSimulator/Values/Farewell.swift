/// Asks a connection to say GOAWAY with `reason` and to close.
struct Farewell: Sendable {
    let reason: String
}
