internal import AsyncHTTPClient
internal import Foundation
internal import NIOHTTP1
internal import PealCore

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

/// Cuts a stream into server-sent events (HTML §9.2).
struct EventReader {
    private var rest: [UInt8] = []

    /// The events that `bytes` complete. Comments and events without JSON are left out.
    mutating func events(in bytes: some Sequence<UInt8>) -> [(name: String, data: JSON)] {
        rest += bytes
        var events: [(name: String, data: JSON)] = []
        while let end = Self.end(rest) {
            if let event = Self.event(String(decoding: rest[..<end], as: UTF8.self)) { events.append(event) }
            rest.removeFirst(end + 2)
        }
        return events
    }

    /// Where a blank line begins.
    private static func end(_ bytes: [UInt8]) -> Int? {
        bytes.indices.dropLast().first { bytes[$0] == 0x0A && bytes[$0 + 1] == 0x0A }
    }

    private static func event(_ text: String) -> (name: String, data: JSON)? {
        var (name, data) = ("message", "")
        for line in text.split(separator: "\n") {
            if line.hasPrefix("event: ") { name = String(line.dropFirst("event: ".count)) }
            if line.hasPrefix("data: ") { data += line.dropFirst("data: ".count) }
        }
        return (try? JSONParser.parse(data)).map { (name, $0) }
    }
}
