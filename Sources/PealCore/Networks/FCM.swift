extension Network {
    /// Firebase Cloud Messaging.
    package static let fcm = Network(
        name: .fcm, title: "FCM", platforms: [Platform.Traits(.android, interactiveSince: [4, 1], isPrimary: true)],
        routes: [Route.Traits(.fcm, .android)], address: .opaque, credentials: FCMCredentialForm.form,
        credential: Credential.FCMServiceAccount.decode,
        appID: AppID(fact: "project_id", placeholder: "project-id"),
        delivery: DeliveryTraits(
            wakesApps: true, display: DisplayContent.applyFCM))
}

extension ProviderName {
    package static let fcm = ProviderName(named: "fcm")
}

extension Platform {
    package static let android = Platform(named: "android")
}

extension Route {
    package static let fcm = Route(number: 3)
}

extension Credential {
    /// The members of a Google service account's JSON file that Peal needs.
    package struct FCMServiceAccount: NetworkCredential {
        package var projectID: String
        package var clientEmail: String
        package var privateKeyID: String?
        /// An RSA key as PEM.
        package var privateKey: String
        /// The endpoint for access tokens. Its host must be one of the allowed hosts.
        package var tokenURI: String

        package init(
            projectID: String, clientEmail: String, privateKeyID: String?, privateKey: String, tokenURI: String
        ) {
            self.projectID = projectID
            self.clientEmail = clientEmail
            self.privateKeyID = privateKeyID
            self.privateKey = privateKey
            self.tokenURI = tokenURI
        }

        package var kind: String { "service_account" }
        package var providerAppID: String { projectID }

        package var members: [(String, JSON?)] {
            [
                ("project_id", .string(projectID)), ("client_email", .string(clientEmail)),
                ("private_key_id", privateKeyID.map(JSON.string)), ("private_key", .string(privateKey)),
                ("token_uri", .string(tokenURI)),
            ]
        }

        @Sendable static func decode(_ stored: StoredCredential) throws -> Credential {
            .fcm(
                .init(
                    projectID: try stored.text("project_id"), clientEmail: try stored.text("client_email"),
                    privateKeyID: stored.json["private_key_id"]?.stringValue,
                    privateKey: try stored.text("private_key"), tokenURI: try stored.text("token_uri")))
        }
    }

    package static func fcm(_ account: FCMServiceAccount) -> Credential { Credential(account) }

    /// nil for a credential of another network.
    package var fcm: FCMServiceAccount? { value as? FCMServiceAccount }
}

/// How authors supply a credential for FCM: `{service_account: {…}}`, with Google's JSON file unchanged.
private enum FCMCredentialForm {
    private static let object = "service_account"

    static let form = CredentialForm(
        object: object, choice: .only,
        kinds: [
            .init(
                "service_account",
                [
                    .init("type", .constant(object), isRequired: false), .word("project_id"),
                    .init("client_email", .word(extra: "@"), pattern: "[A-Za-z0-9._:-]*@[A-Za-z0-9._:@-]*"),
                    .init("private_key_id", .text, isRequired: false),
                    .pem("private_key"), .init("token_uri", .text),
                ]
            ) { given in
                .fcm(
                    .init(
                        projectID: given["project_id"], clientEmail: given["client_email"],
                        privateKeyID: given.text("private_key_id"), privateKey: given["private_key"],
                        tokenURI: given["token_uri"]))
            }
        ],
        retired: [
            "server_key":
                "Google shut down server keys and the legacy API in 2024; use the JSON key file of a service account"
        ])
}

/// The part of a message's content that is only for FCM: a `Message` of HTTP v1 without a target, and options for Peal.
package struct FCMContent: NetworkContent {
    package static let platform = Platform.android
    package var members: JSON.Members

    package init(members: JSON.Members) { self.members = members }

    /// A data message, which the app itself displays.
    package init(data: JSON.Members) { members = JSON.Members([("data", .object(data)), ("data_only", true)]) }

    /// Whether to build no notification from the common fields.
    package var dataOnly: JSON? { self["data_only"] }
    /// The member of the message that identifies the device.
    package var target: JSON? { self["target"] }
    /// Whether FCM reserves that name of a data member, or it is empty
    /// (https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages, `data`).
    package static func isReserved(_ name: String) -> Bool {
        ["", "from", "message_type"].contains(name) || name.hasPrefix("google.") || name.hasPrefix("gcm.notification.")
    }

    /// Removes the data members that FCM reserves, for dialects that send app data to several networks.
    /// - Returns: a warning with their number, if there were any.
    package static func removeReserved(from data: inout JSON.Members, _ path: String) -> [String] {
        let count = data.removeAll(where: isReserved)
        guard count > 0 else { return [] }
        return ["\(path): removed \(Spelling.counted(count, "member")) with a name that FCM reserves"]
    }

    /// The size of data as FCM counts it: the names and values that reach the device, in bytes.
    package static func size(of data: JSON.Members) -> Int {
        data.pairs.reduce(0) { $0 + $1.0.utf8.count + ($1.1.stringValue?.utf8.count ?? $1.1.bytes.count) }
    }

    /// The members that FCM defines.
    package var message: JSON.Members {
        JSON.Members(members.pairs.filter { $0.0 != "data_only" && $0.0 != "target" })
    }
}
