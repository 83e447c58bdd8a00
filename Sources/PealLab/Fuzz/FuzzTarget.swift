/// What is fuzzed.
package enum FuzzTarget: String, CaseIterable, Sendable {
    /// Frames of a server, against requests that are open: the same octets in pieces of other sizes end them alike.
    case frames
    /// Header blocks, against the decoder of another author.
    case hpack
    /// A connection's life: requests begin, time passes and settings change while octets come.
    case connection

    /// Runs one input. Returns what was wrong, and what the input brought about: inputs that bring something new are
    /// worth mutating further.
    package func run(_ input: [UInt8]) -> (violations: [String], signature: Set<String>) {
        switch self {
        case .frames: FrameTrial.run(input)
        case .hpack: HeaderTrial.run(input)
        case .connection: ConnectionTrial.run(input)
        }
    }
}
