package import HTTPTypes
package import NIOCore
package import PealCore

/// Checks the secret that a person signs in with: the same keys and the same limits on guessing as in requests of the
/// native API.
package struct SignIn: Sendable {
    private let gatekeeper: Gatekeeper

    package init(_ services: APIServices) { gatekeeper = Gatekeeper(services) }

    /// The holder of the secret.
    package enum Person: Sendable {
        /// nil for the first admin.
        case admin(Admin?)
        case key(StoredKey)
    }

    /// - Throws: `unauthorized`; `forbidden` for a key of another dialect; `rate_limited`.
    package func person(
        ofSecret secret: String, peer: SocketAddress?, headers: HTTPFields, now: Timestamp
    ) async throws -> Person {
        var shown = HTTPFields()
        // A line end would start another header.
        shown[.authorization] = secret.utf8.allSatisfy { (0x21..<0x7F).contains($0) } ? "Bearer \(secret)" : "Bearer -"
        let address = ClientAddress(peer, headers, proxies: gatekeeper.services.options.trustedProxies)
        // The console logs its requests itself.
        let visit = Visit(requestID: "", address: address, at: now)
        let caller = try await gatekeeper.admit(shown, .anyNative, parameters: [:], visit)
        switch caller.identity {
        case .key(let key): return .key(key)
        case .admin(let admin): return .admin(admin)
        case .anonymous, .device: throw PealError(.unauthorized, "a valid key is required")
        }
    }
}

extension APIServices {
    /// The rules of native keys, which may sign in to the console.
    package var nativeKeyRules: KeyRules { KeyKind.native.rules }
    /// The rules of the keys that are part of apps, which the console creates too.
    package var deviceKeyRules: KeyRules { KeyKind.device.rules }

    /// What a request may take of the memory for bodies and long answers.
    /// - Parameter app: the app of the caller; nil if the caller is an admin or not known yet.
    package func bodyShare(_ peer: SocketAddress?, _ headers: HTTPFields, app: AppKey?) -> any BodyShare {
        bodies.share(of: ClientAddress(peer, headers, proxies: options.trustedProxies), app: app)
    }

    /// The client's address as the audit log shows it.
    package func clientAddress(_ peer: SocketAddress?, _ headers: HTTPFields) -> String {
        ClientAddress(peer, headers, proxies: options.trustedProxies).text
    }
}
