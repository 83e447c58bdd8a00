import NIOSSL

/// A listener to be opened: where, what it speaks, and who deals with its requests.
struct ListenerOrder {
    /// What connections speak.
    enum Wire {
        /// HTTP/1.1 in plain.
        case plain
        /// HTTP/1.1 over TLS.
        case secure
        /// HTTP/2 over TLS, and nothing else.
        case secureHTTP2
        /// Either over TLS, as ALPN settles it.
        case secureEither

        /// What ALPN offers.
        var protocols: [String] {
            switch self {
            case .plain: []
            case .secure: ["http/1.1"]
            case .secureHTTP2: ["h2"]
            case .secureEither: ["h2", "http/1.1"]
            }
        }
    }

    let port: Int
    let wire: Wire
    var asksForCertificate = false
    let desk: any RequestDesk
    /// For HTTP/2 in the fast mode.
    var fastDesk: FastDesk?
}
