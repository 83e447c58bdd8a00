import PealCore
import Synchronization

/// A push network that renders every message as its title, body and the platform's own fields.
final class FakeProvider: Provider {
    let name: ProviderName
    let reasons: Set<String> = []
    let drained = Mutex<[String]>([])
    /// How often a message was rendered.
    let rendered = Mutex(0)
    /// What `verify` answers, and how often it was asked.
    let verification = Mutex((answer: CredentialVerification(.accepted, detail: "the credential is good"), count: 0))

    init(_ name: ProviderName = .apns) { self.name = name }

    /// APNs refuses payloads that are too large, WNS unknown types; FCM accepts everything.
    func render(_ order: RenderOrder) throws(ContentRefusal) -> Notification {
        rendered.withLock { $0 += 1 }
        var members = JSON.Members()
        for (name, text) in [("title", order.content.title), ("body", order.content.body)] {
            members[name] = text?.text(for: order.locale, fallback: order.content.defaultLocale).map(JSON.string)
        }
        let own = order.content.platforms[order.route.platform]?.fields ?? .init()
        members["payload"] = own["payload"]
        let body = JSON.object(members).bytes
        guard name != .apns || body.count <= Limits.apnsPayloadBytesMax else {
            throw ContentRefusal(.payloadTooLarge, "too large", field: .body)
        }
        if name == .wns, let type = own["type"], !["toast", "tile", "badge", "raw"].contains(type) {
            throw .invalid(.platform(.windows, "type"), "there is no such type")
        }
        return Notification(
            route: order.route, path: path(order), headers: headers(order), body: .init(body),
            addressHeader: order.route.isBroadcast ? "apns-channel-id" : nil)
    }

    private func path(_ order: RenderOrder) -> Notification.Gapped {
        switch name {
        case .apns where order.route.isBroadcast: .init(Array("/4/broadcasts/apps/\(order.providerAppID)".utf8))
        case .apns: .init(Array("/3/device/".utf8), gap: .addressHex)
        case .fcm: .init(Array("/v1/projects/\(order.providerAppID)/messages:send".utf8))
        default: .init([], gap: .addressText)
        }
    }

    private func headers(_ order: RenderOrder) -> [Notification.Header] {
        guard name == .apns else { return [] }
        return [
            .init("apns-topic", order.providerAppID), .init("apns-expiration", String(order.expiresAt.seconds)),
        ]
    }

    /// Returns the ids, and for certificates an expiry in ten days.
    func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        var facts = JSON.Members()
        var examined = CredentialExamination(credential: credential, facts: facts)
        switch credential.apns {
        case .token(let signing):
            facts["key_id"] = .string(signing.keyID)
            facts["team_id"] = .string(signing.teamID)
            facts["bundle_id"] = .string(signing.bundleID)
        case .certificate, .archive:
            facts["bundle_id"] = .string(credential.providerAppID)
            examined.credential = .apnsCertificate(
                .init(identity: .init(certificates: "c", privateKey: "k"), bundleID: credential.providerAppID))
            examined.expiresAt = now + .seconds(10 * 86_400)
        case nil: break
        }
        if let account = credential.fcm {
            guard account.tokenURI.hasPrefix("https://oauth2.googleapis.com/") else {
                throw .invalid("token_uri", "is on a host that is not allowed")
            }
            facts["project_id"] = .string(account.projectID)
        }
        if let keys = credential.webPush {
            let made = keys.map(Self.made)
            examined.credential = .webPush(made)
            facts["keys"] = .array(made.map(Self.json))
        }
        examined.facts = facts
        return examined
    }

    /// The public key is derived from the time of creation, so that tests know it.
    private static func made(_ key: Credential.VAPIDKey) -> Credential.VAPIDKey {
        var key = key
        if key.publicKey.isEmpty { key.publicKey = publicKey(at: key.createdAt) }
        return key
    }

    static func publicKey(at instant: Timestamp) -> String {
        var bytes = Array(repeating: UInt8(4), count: 65)
        withUnsafeBytes(of: instant.milliseconds.bigEndian) { bytes.replaceSubrange(57..., with: $0) }
        return Base64URL.encode(bytes)
    }

    private static func json(_ key: Credential.VAPIDKey) -> JSON {
        [
            "fingerprint": .string(key.fingerprint), "public_key": .string(key.publicKey),
            "subject": .string(key.subject), "created_at": .string(key.createdAt.description),
        ]
    }

    /// Refuses subscriptions whose endpoint says so.
    func check(_ address: Address) throws(PealError) {
        guard address.json["endpoint"]?.stringValue?.hasSuffix("/off-the-curve") != true else {
            throw .invalid("address.keys.p256dh", "is no point of its curve")
        }
    }

    func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        verification.withLock { state in
            state.count += 1
            return state.answer
        }
    }

    func send(_ order: PageOrder) { order.flight.answerRest(.accepted) }
    func drain(fingerprint: String) { drained.withLock { $0.append(fingerprint) } }
    func share(among servers: Int) {}
    func close() async {}
}
