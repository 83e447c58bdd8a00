import PealCore

/// Asks APNs whether a credential is let in: a background push without content to a device token of zeros, which no
/// device has. It goes the way of every push, so that the rules of connections hold for it too.
struct APNsVerification {
    let credential: Credential
    let fingerprint: String
    let environment: Environment
    let time: any TimeSource
    let randomness: any Randomness
    let send: (PageOrder) -> Void

    /// How often an answer that only asks for another provider token or connection is followed up.
    private static let attemptsMax = 2

    func run() async -> CredentialVerification {
        guard let notification else {
            return CredentialVerification(.refused, reason: "BadCertificate", detail: "The certificate names no topic.")
        }
        var answer = Answer.unsent("NoAnswer")
        for _ in 0..<Self.attemptsMax {
            answer = await ask(notification)
            guard [.verdict(.refreshCredential), .verdict(.reconnect)].contains(answer.result) else { break }
        }
        return Self.meaning(answer)
    }

    private func ask(_ notification: Notification) async -> Answer {
        var page = DevicePage(through: 1, isLast: true, readAt: time.now, capacity: 1)
        let address = [UInt8](repeating: 0, count: 32)
        address.withUnsafeBytes { page.append(key: 1, address: $0, revision: 0, locale: 0) }
        let message: MessageID = randomness.timeOrderedIdentifier(at: time.now)
        let order = PageOrder(
            slice: Slice.ID(app: 0, message: message, route: notification.route, window: 0, part: 0),
            credential: credential, fingerprint: fingerprint, page: page, notifications: [notification],
            variants: [0], lane: .direct, deadline: time.uptime + .seconds(Limits.connectTimeoutSeconds),
            control: SendControl())
        send(order)
        let flight = order.flight
        await withTaskGroup { group in
            group.addTask { await flight.wait() }
            group.addTask { [time] in try? await time.sleep(for: .seconds(Limits.verificationSeconds)) }
            await group.next()
            group.cancelAll()
        }
        flight.answerRest(.lost("Timeout"))
        return flight.snapshot.exceptions[0] ?? .accepted
    }

    /// The plainest push that the credential may send: a certificate may be for VoIP alone. nil when its topics are
    /// none of the app's.
    private var notification: Notification? {
        let bundleID = credential.providerAppID
        var types: [APNsPushType] = [.background]
        if case .apnsCertificate(let certificate) = credential,
            let topics = (try? APNsCertificateReader(certificate.identity.certificates))?.topics, !topics.isEmpty
        {
            types = [.background, .voip, .complication, .pushtotalk, .fileprovider]
                .filter { topics.contains(bundleID + $0.topicSuffix) }
        }
        guard let type = types.first else { return nil }
        return Notification(
            route: Route(.ios, environment), path: .init(Array("/3/device/".utf8), gap: .addressHex),
            headers: [
                .init("apns-topic", bundleID + type.topicSuffix), .init("apns-push-type", type.rawValue),
                .init("apns-priority", type.priority(.normal)), .init("apns-expiration", "0"),
            ],
            body: .init(Array(#"{"aps":{"content-available":1}}"#.utf8)))
    }

    /// APNs judges credential and topic before the device token: whoever hears of the device token was let in.
    private static func meaning(_ answer: Answer) -> CredentialVerification {
        func verification(_ result: CredentialVerification.Result, _ detail: String) -> CredentialVerification {
            CredentialVerification(result, status: answer.status, reason: answer.reason, detail: detail)
        }
        switch answer.result {
        case .verdict(.accepted), .verdict(.retireAddress), .verdict(.holdAddress):
            return verification(
                .accepted, "APNs let the credential in and refused only the device token, which is none.")
        case .verdict(.stopApp), .verdict(.refreshCredential):
            return verification(.refused, "APNs refused the credential: \(answer.reason).")
        case .verdict(.rejectMessage), .verdict(.retry), .verdict(.holdApp), .verdict(.reconnect):
            return verification(.unreachable, "APNs did not judge the credential: \(answer.reason).")
        case .unsent where answer.reason == "NoTLS":
            return verification(
                .unreachable, "TLS with APNs did not come about: its certificate is not trusted, or ours not taken.")
        case .lost, .unsent, .held:
            return verification(.unreachable, "APNs did not answer: \(answer.reason).")
        }
    }
}
