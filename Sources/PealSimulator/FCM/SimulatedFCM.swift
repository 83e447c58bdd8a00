/// FCM: the HTTP v1 API and Google's token endpoint on one listener, over HTTP/2 or HTTP/1.1.
struct SimulatedFCM: SimulatedNetwork {
    static let name = "fcm"
    static let projectID = "peal-demo"

    let account: ServiceAccount
    private let parts: SharedParts

    init(_ parts: SharedParts) throws {
        self.parts = parts
        account = try ServiceAccount(projectID: Self.projectID, ids: parts.ids)
    }

    static func status(ofErrorCode code: String) -> Int? { FCMErrorCode(rawValue: code)?.status }

    /// The message in the body, as in the strict mode.
    static func payload(ofBody body: [UInt8]) -> [UInt8] {
        JSONValue(bytes: body)?["message"].map { Array($0.text.utf8) } ?? PayloadJSON.of(body)
    }

    var listeners: [Listener] {
        let authorization = GoogleAuthorization(
            account: account, accessTokens: parts.accessTokens,
            lifeSeconds: parts.options.accessTokenSeconds ?? SimulatorLimits.accessTokenLifeSeconds)
        let service = FCMService(
            mode: parts.mode, projectID: account.projectID, authorization: authorization, ids: parts.ids)
        return [parts.listener(.fcm, .secureEither, service, fast: FastFCM())]
    }

    func publish(at description: SimulatorDescription) async throws -> [(String, String)] {
        let tokenURL = description.url(.fcm) + "/token"
        try description.folder.write(account.json(tokenURL: tokenURL), to: .serviceAccount)
        return [
            ("project_id", account.projectID), ("service_account_file", description.folder.path(.serviceAccount)),
            ("token_url", tokenURL),
        ]
    }
}

extension PushProvider {
    /// Firebase Cloud Messaging.
    package static let fcm = PushProvider(SimulatedFCM.self)
}

extension ListenerName {
    static let fcm = ListenerName(member: "fcm_url")
}

extension SimulatorFolder.File {
    static let serviceAccount = Self(name: "fcm-service-account.json", isSecret: true)
}
