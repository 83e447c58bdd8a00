/// FCM: the HTTP v1 API and Google's token endpoint on one listener, over HTTP/2 or HTTP/1.1.
struct SimulatedFCM: SimulatedNetwork {
    static let name = "fcm"
    static let projectID = "peal-demo"

    let account: ServiceAccount
    private let parts: SharedParts

    init(_ parts: SharedParts) throws {
        self.parts = parts
        account = try ServiceAccount(projectID: Self.projectID, ids: parts.ids, kept: parts.kept(.serviceAccount))
    }

    static func status(ofErrorCode code: String) -> Int? { FCMErrorCode(rawValue: code)?.status }

    /// The message in the body, as in strict mode.
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

/// FCM's HTTP v1 API, with Google's OAuth endpoint on the same listener.
struct FCMService: PushService {
    let provider = PushProvider.fcm
    let mode: SimulatorMode
    let projectID: String
    let authorization: GoogleAuthorization
    let ids: IDSource

    var expired: FaultAnswer { FCMRefusal.expired }

    func judge(_ request: PushRequest, memory: inout ConnectionMemory, milliseconds: Int64) -> Judgement {
        if request.route == "/token" { return authorization.judge(request, milliseconds: milliseconds, mode: mode) }
        guard mode == .strict else { return accept(request, nil, milliseconds) }
        guard let project = Self.project(request), request.method == "POST" else {
            return .refused(reason: "NOT_FOUND", FCMRefusal.answer(404, "NOT_FOUND", "Not Found"))
        }
        if let refusal = checkAuthorization(request, milliseconds) { return refusal }
        guard project == projectID else {
            let text = "Requested entity was not found."
            return .refused(reason: "NOT_FOUND", FCMRefusal.answer(404, "NOT_FOUND", text))
        }
        return judgeMessage(request, milliseconds)
    }

    func answer(_ fault: FaultAnswer, to acceptance: Acceptance) -> HTTPAnswer {
        guard acceptance.kind == .send else { return authorization.answer(fault) }
        return FCMRefusal.answer(fault)
    }

    /// The project in `/v1/projects/<project>/messages:send`.
    private static func project(_ request: PushRequest) -> Substring? {
        let (prefix, suffix) = ("/v1/projects/", "/messages:send")
        let route = request.route
        guard route.hasPrefix(prefix), route.hasSuffix(suffix), route.count > prefix.count + suffix.count else {
            return nil
        }
        let project = route.dropFirst(prefix.count).dropLast(suffix.count)
        return project.contains("/") ? nil : project
    }

    private func checkAuthorization(_ request: PushRequest, _ milliseconds: Int64) -> Judgement? {
        guard let accessToken = request.credentials("bearer"),
            let grant = authorization.accessTokens.grant(accessToken, milliseconds: milliseconds)
        else { return .refused(reason: "UNAUTHENTICATED", FCMRefusal.unauthenticated) }
        guard !grant.scopes.isDisjoint(with: GoogleAuthorization.sendingScopes) else {
            let text = "Request had insufficient authentication scopes."
            return .refused(reason: "PERMISSION_DENIED", FCMRefusal.answer(403, "PERMISSION_DENIED", text))
        }
        return nil
    }

    private func judgeMessage(_ request: PushRequest, _ milliseconds: Int64) -> Judgement {
        guard request.bodyBytes <= SimulatorLimits.requestBodyBytesMax, let body = JSONValue(bytes: request.body) else {
            let text = "Invalid JSON payload received. Expected an object."
            return .refused(reason: "INVALID_ARGUMENT", FCMRefusal.answer(400, "INVALID_ARGUMENT", text))
        }
        var shape = FCMShapeCheck()
        let whole = shape.object(body, "SendMessageRequest", at: "")
        guard shape.violations.isEmpty else { return refuse(shape.violations, isMalformed: true) }
        guard let message = whole["message"] else {
            return refuse([FieldViolation(field: "message", description: "Message is not set.")])
        }
        let check = FCMMessageCheck(message)
        guard check.violations.isEmpty else { return refuse(check.violations) }
        let isTrial = whole["validateOnly"] == .truth(true)
        return accept(request, isTrial ? nil : body["message"] ?? message, milliseconds, device: check.target)
    }

    private func refuse(_ violations: [FieldViolation], isMalformed: Bool = false) -> Judgement {
        .refused(reason: "INVALID_ARGUMENT", FCMRefusal.invalid(violations, isMalformed: isMalformed))
    }

    /// `message` is nil for a validation. In fast mode, only the target is read from the body.
    private func accept(
        _ request: PushRequest, _ message: JSONValue?, _ milliseconds: Int64, device: String? = nil
    ) -> Judgement {
        var (device, message) = (device, message)
        if mode == .fast {
            message = JSONValue(bytes: request.body)?["message"]
            device = message.map { FCMMessageCheck($0).target }
        }
        let number = ids.number()
        let id = "projects/\(projectID)/messages/0:\(milliseconds * 1_000)%" + String(number, radix: 16)
        let item = message.map { message in
            InboxItem(
                at: milliseconds, provider: .fcm, device: device ?? "", id: id,
                headersJSON: InboxItem.headersJSON(request.headers), payload: Array(message.text.utf8))
        }
        let credential = request.credentials("bearer").map { Fingerprint.of($0, isFoldingCase: false) }
        return .accepted(
            Acceptance(
                device: device ?? "", id: id, answer: .json(200, JSONText.object([("name", JSONText.quoted(id))])),
                credential: credential, item: item))
    }
}
