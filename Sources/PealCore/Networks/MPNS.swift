extension Network {
    /// Microsoft Push Notification Service, for Windows Phone.
    package static let mpns = Network(
        name: .mpns, title: "MPNS", platforms: [Platform.Traits(.windowsPhone)],
        routes: [Route.Traits(.mpns, .windowsPhone)], address: .uri,
        // The service also issued http URIs.
        hosts: HostPolicy(own: [".notify.live.net"], allowsClear: true), credentials: MPNSCredentialForm.form,
        credential: Credential.MPNSClient.decode, contentMembers: WindowsMember.allCases.map(\.rawValue))
}

extension ProviderName {
    package static let mpns = ProviderName(named: "mpns")
}

extension Platform {
    package static let windowsPhone = Platform(named: "windows_phone")
}

extension Route {
    package static let mpns = Route(number: 5)
}

extension Credential {
    /// MPNS requires no credential. A certificate registered with the store removes its daily limit.
    package struct MPNSClient: NetworkCredential {
        package var identity: TLSIdentity?

        package init(identity: TLSIdentity?) { self.identity = identity }

        package var kind: String { identity == nil ? "none" : "certificate" }
        package var members: [(String, JSON?)] { identity?.members ?? [] }

        @Sendable static func decode(_ stored: StoredCredential) throws -> Credential {
            .mpns(.init(identity: try stored.kind() == "none" ? nil : try stored.identity()))
        }
    }

    package static func mpns(_ client: MPNSClient) -> Credential { Credential(client) }

    /// nil for a credential of another network.
    package var mpns: MPNSClient? { value as? MPNSClient }
}

/// How authors supply a credential for MPNS: `{certificate, private_key}`, or nothing for the network's unauthenticated
/// service.
private enum MPNSCredentialForm {
    static let form = CredentialForm(
        choice: .byMembers,
        kinds: [
            .init(
                "certificate", [.pem("certificate", bytesMax: Limits.certificatesBytesMax), .pem("private_key")]
            ) { given in
                .mpns(.init(identity: .init(certificates: given["certificate"], privateKey: given["private_key"])))
            },
            .init("none", []) { _ in .mpns(.init(identity: nil)) },
        ])
}

/// The part of a message's content that is only for MPNS: a kind of notification and the parts of its template.
package struct MPNSContent: WindowsContent {
    package static let platform = Platform.windowsPhone
    package var members: JSON.Members

    package init(members: JSON.Members) { self.members = members }

    /// A toast with only a title.
    package init(toast title: String) {
        members = .init()
        self[.type] = "toast"
        self[.fields] = ["title": .string(title)]
    }
}
