internal import AsyncHTTPClient
internal import Foundation
internal import NIOHTTP1

/// Explains why a server cannot be reached, because the libraries' errors are written for programmers.
enum ConnectionFailureText {
    static func text(_ error: any Error) -> String {
        if let error = error as? HTTPClientError, let text = text(of: error) { return text }
        if error is HTTPParserError { return "it does not speak HTTP; does it expect https?" }
        let raw = "\(error)"
        return known.first { raw.range(of: $0.part, options: .caseInsensitive) != nil }?.text ?? raw
    }

    private static func text(of error: HTTPClientError) -> String? {
        switch error {
        case .connectTimeout: "it does not answer; check the address and the firewall"
        case .deadlineExceeded, .readTimeout: "it accepted the request but did not answer in time"
        case .remoteConnectionClosed:
            "it closed the connection without an answer; does it expect https, or a client certificate "
                + "(--client-cert-file)?"
        case .tlsHandshakeTimeout: "it does not speak TLS; does it expect http?"
        default: nil
        }
    }

    /// Parts of the errors' texts, the more specific ones first.
    private static let known: [(part: String, text: String)] = [
        (
            "CERTIFICATE_VERIFY_FAILED",
            "its certificate is not trusted; give the certificate of its authority with --ca-file"
        ),
        ("failedToValidateHostname", "its certificate is for another host; use a host name that it contains"),
        ("CERTIFICATE_REQUIRED", "it requires a client certificate; give one with --client-cert-file"),
        ("WRONG_VERSION_NUMBER", "it does not speak TLS; does it expect http?"),
        ("handshakeFailed", "the TLS handshake failed"),
        ("connection refused", "nothing listens there; is the server running?"),
        ("errno: 111", "nothing listens there; is the server running?"),
        ("errno: 61", "nothing listens there; is the server running?"),
        ("SocketAddressError", "there is no such host"), ("unknown(host", "there is no such host"),
        ("network is unreachable", "the network is unreachable"),
        ("no route to host", "the host is unreachable"),
        ("connection reset", "it closed the connection"),
    ]
}
