internal import PealDevice

/// How the app's exchange with the server stands.
public enum PealStatus: Sendable, Hashable {
    /// This run of the app has sent nothing yet, for example because `Peal.setDeviceToken` was not called.
    case idle
    /// The server accepted the last registration or sync.
    case connected
    /// The server refused something permanently. The code `unauthorized` of a registration means that
    /// `PealConfiguration.key` is wrong; the field `server` means that `PealConfiguration.server` is not a valid URL.
    case refused(PealError)
    /// The answer, with this HTTP status, is not from a Peal server: `PealConfiguration.server` is wrong, or something
    /// in between answered, such as the login page of a network. The request is retried.
    case notPeal(status: Int)
    /// There was no answer, for the reason that the system gave: there is no network, or the server's name or
    /// certificate is wrong. The request is retried.
    case unreachable(String)
    /// The server asked for a pause. The request is retried.
    case busy

    /// nil for an invalid device token, which the device replaces itself.
    init?(_ failure: APIFailure) {
        switch failure {
        case .lost(let reason): self = .unreachable(reason)
        case .foreign(let status): self = .notPeal(status: status)
        case .busy: self = .busy
        case .refused: self = PealError(failure).map(Self.refused) ?? .idle
        case .unauthorized: return nil
        }
    }

    /// What the log says: nothing that identifies a person or a device. nil if there is nothing to repair.
    var problem: String? {
        switch self {
        case .idle, .connected, .busy: nil
        case .refused(.notStored): nil
        case .refused(.refused(let code, let message, let field)):
            "The server refused a request: " + [code, field, message].compactMap(\.self).joined(separator: ", ")
        case .notPeal(let status):
            "The answer (HTTP \(status)) is not from a Peal server; check the server's address. Peal retries."
        case .unreachable(let reason): "The server does not answer (\(reason)); Peal retries."
        }
    }
}
