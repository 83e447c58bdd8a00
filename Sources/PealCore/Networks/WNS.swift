extension Network {
    /// Windows Push Notification Services.
    package static let wns = Network(
        name: .wns, title: "WNS", platforms: [Platform.Traits(.windows)], routes: [Route.Traits(.wns, .windows)],
        address: .uri, hosts: HostPolicy(own: [".notify.windows.com"]), credentials: WNSCredentialForm.form,
        credential: Credential.WNSClient.decode,
        contentMembers: WindowsMember.allCases.map(\.rawValue))
}

extension ProviderName {
    package static let wns = ProviderName(named: "wns")
}

extension Platform {
    package static let windows = Platform(named: "windows")
}

extension Route {
    package static let wns = Route(number: 4)
}

extension Credential {
    /// The two kinds of clients that Microsoft issues access tokens to.
    package enum WNSClient: NetworkCredential {
        /// A Store app, `ms-app://S-1-15-…`, which authenticates at login.live.com.
        case storeApp(packageSID: String, clientSecret: String)
        /// A Windows App SDK app, which is a client of a Microsoft Entra tenant.
        case tenant(tenantID: String, clientID: String, clientSecret: String)

        package var kind: String {
            switch self {
            case .storeApp: "package"
            case .tenant: "tenant"
            }
        }

        package var members: [(String, JSON?)] {
            switch self {
            case .storeApp(let packageSID, let secret):
                [("package_sid", .string(packageSID)), ("client_secret", .string(secret))]
            case .tenant(let tenantID, let clientID, let secret):
                [
                    ("tenant_id", .string(tenantID)), ("client_id", .string(clientID)),
                    ("client_secret", .string(secret)),
                ]
            }
        }

        @Sendable static func decode(_ stored: StoredCredential) throws -> Credential {
            guard try stored.kind() == "package" else {
                return .wns(
                    .tenant(
                        tenantID: try stored.text("tenant_id"), clientID: try stored.text("client_id"),
                        clientSecret: try stored.text("client_secret")))
            }
            return .wns(
                .storeApp(
                    packageSID: try stored.text("package_sid"), clientSecret: try stored.text("client_secret")))
        }
    }

    package static func wns(_ client: WNSClient) -> Credential { Credential(client) }

    /// nil for a credential of another network.
    package var wns: WNSClient? { value as? WNSClient }
}

/// How authors supply a credential for WNS: `{package_sid, client_secret}` from the Store, or `{tenant_id, client_id,
/// client_secret}` from Microsoft Entra.
private enum WNSCredentialForm {
    private static let clientSecret = CredentialForm.Member("client_secret", .secret, pattern: "[ -~]+")

    /// Contains at least one letter or digit, because it becomes a segment of a URL's path.
    private static func identifier(_ name: String) -> CredentialForm.Member {
        .init(name, .word(extra: ""), pattern: "[._:-]*[A-Za-z0-9][A-Za-z0-9._:-]*")
    }

    static let form = CredentialForm(
        choice: .byMembers,
        kinds: [
            // `ms-app://S-1-15-2-…`
            .init(
                "package",
                [
                    .init("package_sid", .word(extra: "/"), pattern: "[Mm][Ss]-[Aa][Pp][Pp]://[A-Za-z0-9-]+"),
                    clientSecret,
                ]
            ) { given in
                .wns(.storeApp(packageSID: given["package_sid"], clientSecret: given["client_secret"]))
            },
            .init(
                "tenant", [identifier("tenant_id"), identifier("client_id"), clientSecret]
            ) { given in
                .wns(
                    .tenant(
                        tenantID: given["tenant_id"], clientID: given["client_id"],
                        clientSecret: given["client_secret"]))
            },
        ])
}

/// The part of a message's content that is only for WNS: a kind of notification, and its document or the parts of a
/// template.
package struct WNSContent: WindowsContent {
    package static let platform = Platform.windows
    package var members: JSON.Members

    package init(members: JSON.Members) { self.members = members }

    package init(
        type: String, xml: String? = nil, template: String? = nil, fields: JSON? = nil, value: JSON? = nil,
        launch: String? = nil
    ) {
        members = .init()
        self[.type] = .string(type)
        self[.xml] = xml.map(JSON.string)
        self[.template] = template.map(JSON.string)
        self[.fields] = fields
        self[.value] = value
        self[.launch] = launch.map(JSON.string)
    }

    /// Whether WNS accepts the text as a tag or a group.
    package static func isLabel(_ text: String) -> Bool {
        (1...Limits.wnsTagCharactersMax).contains(text.utf8.count) && text.utf8.allSatisfy(\.isASCIIAlphanumeric)
    }

    /// The parts of a template whose texts and images are numbered.
    package static func parts(texts: [JSON]?, images: [JSON]?) -> JSON {
        .compact([("text", texts.map(JSON.array)), ("image", images.map(JSON.array))])
    }
}

/// Content for one of Microsoft's networks: a kind of notification, and its document or the parts of a template.
package protocol WindowsContent: NetworkContent {}

/// The members that both of Microsoft's networks, or one of them, have.
package enum WindowsMember: String, CaseIterable, Sendable {
    /// The kind of notification.
    case type
    /// A complete document.
    case xml
    case template
    /// The parts of the template.
    case fields
    /// A badge's value, or raw data.
    case value
    /// The app's launch argument.
    case launch
    case tag, group
    /// How long a toast is shown: `long` or `short`.
    case duration
    /// The sound of a toast: `src`, `loop` and `silent`.
    case audio
    /// Whether WNS keeps the notification for a device that is offline: `cache` or `no-cache`.
    case cachePolicy = "cache_policy"
}

extension WindowsContent {
    /// nil if it is absent or null.
    package subscript(_ member: WindowsMember) -> JSON? {
        get { self[member.rawValue] }
        set { self[member.rawValue] = newValue }
    }
}
