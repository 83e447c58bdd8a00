internal import PealDevice

/// How the app's exchange with the server stands.
public enum PealStatus: Sendable, Hashable {
    /// Nothing was sent yet in this run of the app, such as before `Peal.setDeviceToken`.
    case idle
    /// The server accepted the last registration or sync.
    case connected
    /// The server refused something permanently: the code `unauthorized` of a registration means that
    /// `PealConfiguration.key` is wrong, the field `server` that `PealConfiguration.server` is no address.
    case refused(PealError)
    /// What answers is not a Peal server, with this HTTP status: `PealConfiguration.server` is wrong, or something in
    /// between answers, such as the login page of a network. The request is repeated.
    case notPeal(status: Int)
    /// There was no answer, for this reason of the system: there is no network, or the server's name or certificate is
    /// wrong. The request is repeated.
    case unreachable(String)
    /// The server asked for a pause. The request is repeated.
    case busy

    /// nil for a token that has ended, which the device replaces itself.
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
            "What answers (HTTP \(status)) is not a Peal server; check the server's address. Peal tries again."
        case .unreachable(let reason): "The server does not answer (\(reason)); Peal tries again."
        }
    }
}
