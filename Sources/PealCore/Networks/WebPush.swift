extension Network {
    /// Web Push (RFC 8030): the push services of browsers.
    package static let webPush = Network(
        name: .webpush, title: "Web Push", platforms: [Platform.Traits(.web)], routes: [Route.Traits(.webPush, .web)],
        address: .subscription,
        hosts: HostPolicy(own: [
            "fcm.googleapis.com", ".push.services.mozilla.com", ".push.apple.com", ".notify.windows.com",
        ]), credentials: WebPushCredentialForm.form, credential: Credential.VAPIDKeys.decode,
        // Push services that pass messages on to a phone's own network.
        delivery: DeliveryTraits(
            bodyBytesAdvised: Limits.webPushBridgedBytesMax))
}

extension ProviderName {
    package static let webpush = ProviderName(named: "webpush")
}

extension Platform {
    package static let web = Platform(named: "web")
}

extension Route {
    package static let webPush = Route(number: 6)
}

extension Credential {
    /// All keys that a subscription may have been created with, newest last.
    package struct VAPIDKeys: NetworkCredential {
        package var keys: [VAPIDKey]

        package init(_ keys: [VAPIDKey]) { self.keys = keys }

        package var kind: String { "vapid" }
        package var members: [(String, JSON?)] { [("keys", .array(keys.map(\.json)))] }

        @Sendable static func decode(_ stored: StoredCredential) throws -> Credential {
            .webPush(
                try (stored.json["keys"]?.arrayValue ?? []).map { json in
                    let key = StoredCredential(json: json)
                    guard let createdAt = json["created_at"]?.integerValue else { throw StoredCredential.damaged }
                    return VAPIDKey(
                        subject: try key.text("subject"), privateKey: try key.text("private_key"),
                        publicKey: try key.text("public_key"), createdAt: Timestamp(milliseconds: createdAt))
                })
        }

        /// Keeps the earlier keys, because a subscription accepts only the key that it was created with. A key that was
        /// already there is replaced.
        package func joined(to earlier: VAPIDKeys) -> VAPIDKeys? {
            let names = Set(keys.map(\.publicKey))
            return VAPIDKeys(earlier.keys.filter { !names.contains($0.publicKey) } + keys)
        }

        package func checkSize() throws(PealError) {
            guard keys.count <= Limits.vapidKeysMax else {
                throw PealError(.conflict, "the app has \(Limits.vapidKeysMax) VAPID keys; delete one first")
            }
        }

        package func removingKey(_ fingerprint: String) -> KeyRemoval<VAPIDKeys> {
            let rest = keys.filter { $0.fingerprint != fingerprint }
            if rest.count == keys.count { return .notFound }
            return rest.isEmpty ? .empty : .remaining(VAPIDKeys(rest))
        }
    }

    /// An application server key (RFC 8292).
    package struct VAPIDKey: Sendable, Hashable {
        /// A `mailto:` or `https:` URI, which push services use to report problems to the operator.
        package var subject: String
        /// 32 bytes in base64url; empty if the author supplies none, until `Provider.examine` creates one.
        package var privateKey: String
        /// 65 bytes, uncompressed, in base64url; empty until `Provider.examine` has derived it.
        package var publicKey: String
        package var createdAt: Timestamp

        package init(subject: String, privateKey: String, publicKey: String = "", createdAt: Timestamp) {
            self.subject = subject
            self.privateKey = privateKey
            self.publicKey = publicKey
            self.createdAt = createdAt
        }

        /// The last 32 characters of the public key, which identify the key in lists and paths and are not secret.
        package var fingerprint: String { String(publicKey.suffix(32)) }

        fileprivate var json: JSON {
            [
                "subject": .string(subject), "private_key": .string(privateKey), "public_key": .string(publicKey),
                "created_at": .integer(createdAt.milliseconds),
            ]
        }
    }

    package static func webPush(_ keys: [VAPIDKey]) -> Credential { Credential(VAPIDKeys(keys)) }

    /// nil for a credential of another network.
    package var webPush: [VAPIDKey]? { (value as? VAPIDKeys)?.keys }
}

/// How authors supply a credential for Web Push: `{subject, private_key?}`. The server creates the VAPID key if it is
/// absent.
private enum WebPushCredentialForm {
    static let form = CredentialForm(
        choice: .only,
        kinds: [
            .init(
                "vapid",
                [
                    .init("subject", .contact, text: "How push services reach the operator (RFC 8292 §2.1)."),
                    .init(
                        "private_key", .lines(bytesMax: Limits.privateKeyBytesMax), isRequired: false,
                        pattern: #"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]|[\t\n\r -~]*-----BEGIN [\t\n\r -~]*"#,
                        text: "A P-256 key: 32 bytes in base64url, or PEM. Peal creates one if it is absent."),
                ]
            ) { given in
                .webPush([
                    .init(subject: given["subject"], privateKey: given["private_key"], createdAt: given.now)
                ])
            }
        ], keepsEarlierKeys: true)
}

/// The part of a message's content that is only for browsers: the text of the push, and the headers for push services.
package struct WebPushContent: NetworkContent {
    package static let platform = Platform.web
    package var members: JSON.Members

    package init(members: JSON.Members) { self.members = members }

    package var payload: JSON? { self["payload"] }
    /// The topic (RFC 8030 §5.4).
    package var topic: JSON? { self["topic"] }
    /// The urgency (RFC 8030 §5.3).
    package var urgency: JSON? { self["urgency"] }
    /// The members that are merged over the payload.
    package var others: JSON.Members {
        JSON.Members(Array(members.pairs.filter { !["payload", "topic", "urgency"].contains($0.0) }))
    }
}
