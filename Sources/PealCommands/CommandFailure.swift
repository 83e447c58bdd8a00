/// Why a command did not do what it was told; its description is what the person reads.
enum CommandFailure: Error, CustomStringConvertible, Equatable {
    /// The server said no.
    case refused(String)
    /// The command cannot be carried out as it was written.
    case usage(String)
    /// No answer came from the server.
    case unreachable(String)
    /// A server command ended badly.
    case failed(String)

    var exitCode: Int32 {
        switch self {
        case .refused, .failed: 1
        case .usage: 2
        case .unreachable: 3
        }
    }

    var description: String {
        switch self {
        case .refused(let text), .usage(let text), .unreachable(let text), .failed(let text): text
        }
    }
}
