extension AddressRules {
    /// What checking a device's URI came to.
    package enum EndpointCheck: Sendable, Hashable {
        case allowed(EndpointURI)
        /// Why not: the rest of a sentence that begins with the field's name.
        case refused(String)
    }

    /// Why a URI may not be sent to on a route; nil where it may. Asked when it is registered and again at each send,
    /// because the lists may have changed in between.
    package func refusal(ofURI text: String, on route: Route) -> String? {
        if case .refused(let reason) = check(uri: Array(text.utf8), on: route) { return reason }
        return nil
    }

    /// Checks the URI of a device of WNS, MPNS or Web Push. Microsoft: send to notify.windows.com only, whatever stands
    /// before it, and take the rest for opaque (learn.microsoft.com, WNS overview).
    package func check(uri bytes: some Collection<UInt8>, on route: Route) -> EndpointCheck {
        guard bytes.count <= Limits.endpointURIBytesMax else {
            return .refused("is longer than \(Limits.endpointURIBytesMax) bytes")
        }
        guard let uri = EndpointURI(bytes) else { return .refused("must be an https URI") }
        let hosts = hosts(on: route)
        let isListed = hosts.contains { $0.matches(uri) }
        guard isListed || route == .webPush && webPushIsOpen && isPublic(uri) else {
            return .refused("is on a host that is not allowed")
        }
        // MPNS gave out http URIs too; elsewhere only this machine may be spoken to in the clear.
        let allowsClear = route == .mpns || uri.isLoopback && hosts.contains { $0.names(uri) }
        guard uri.isSecure || allowsClear else { return .refused("must be an https URI") }
        return .allowed(uri)
    }

    private func hosts(on route: Route) -> [AllowedHost] {
        switch route {
        case .wns: wns
        case .mpns: mpns
        case .webPush: webPush
        default: []
        }
    }

    /// Whether the open mode of Web Push takes the host's name. Where the name leads is found out when connecting.
    private func isPublic(_ uri: EndpointURI) -> Bool {
        uri.isSecure && uri.hasDefaultPort && !uri.isIPAddress && !uri.isLoopback && uri.host.contains(".")
    }
}
