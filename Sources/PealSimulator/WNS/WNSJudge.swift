/// Judges requests to channels of WNS
/// (https://learn.microsoft.com/windows/apps/develop/notifications/push-notifications/push-request-response-headers).
struct WNSJudge: Sendable {
    private static let types: [String: String] = [
        "wns/toast": "toast", "wns/tile": "tile", "wns/badge": "badge", "wns/raw": "",
    ]
    private static let badges: Set<String> = [
        "none", "activity", "alarm", "alert", "attention", "available", "away", "busy", "error", "newMessage", "paused",
        "playing", "unavailable",
    ]
    let accessTokens: AccessTokenGrants

    /// Throws the reason why `request` is invalid, with checks in the order of the real service.
    func judge(_ request: PushRequest, milliseconds: Int64) throws(WNSRefusal) {
        guard request.route == "/", let query = request.path.split(separator: "?", maxSplits: 1).dropFirst().first,
            query.hasPrefix("token="), query.count > "token=".count
        else { throw WNSRefusal(404, "The channel URI is not valid or is not recognized by WNS") }
        guard request.method == "POST" else { throw WNSRefusal(405, "Only POST is allowed") }
        guard let accessToken = request.credentials("bearer"),
            let grant = accessTokens.grant(accessToken, milliseconds: milliseconds), grant.provider == .wns
        else { throw WNSRefusal(401, "The access token is missing, not valid or expired") }
        try checkTransport(request)
        try checkHeaders(request)
        try checkPayload(request)
    }

    private func checkTransport(_ request: PushRequest) throws(WNSRefusal) {
        guard request.value("transfer-encoding") == nil, request.value("content-length") != nil else {
            throw WNSRefusal(400, "Content-Length is required, and Transfer-Encoding is not supported")
        }
        guard request.value("expect") == nil else { throw WNSRefusal(400, "Expect is not supported") }
    }

    private func checkHeaders(_ request: PushRequest) throws(WNSRefusal) {
        guard let type = request.value("x-wns-type"), Self.types[type] != nil else {
            throw WNSRefusal(400, "X-WNS-Type is missing or not valid")
        }
        let content = (request.value("content-type") ?? "").prefix { $0 != ";" }.lowercased()
        guard content == (type == "wns/raw" ? "application/octet-stream" : "text/xml") else {
            throw WNSRefusal(400, "Content-Type does not fit X-WNS-Type")
        }
        try check(request, "x-wns-cache-policy") { ["cache", "no-cache"].contains($0) }
        try check(request, "x-wns-requestforstatus") { ["true", "false"].contains($0.lowercased()) }
        try check(request, "x-wns-priority") { ["1", "2", "3", "4"].contains($0) }
        try check(request, "x-wns-tag", Self.isTag)
        try check(request, "x-wns-ttl") { text in
            !text.isEmpty && text.utf8.count < 16 && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        // These two are only for phones.
        try check(request, "x-wns-suppresspopup") { _ in false }
        try check(request, "x-wns-group") { _ in false }
        let isCached =
            request.value("x-wns-cache-policy").map { $0 == "cache" } ?? ["wns/tile", "wns/badge"].contains(type)
        if isCached, request.value("x-wns-ttl") == "0" { throw WNSRefusal(400, "X-WNS-TTL 0 conflicts with caching") }
    }

    private static func isTag(_ text: String) -> Bool {
        (1...16).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) }
    }

    private func check(
        _ request: PushRequest, _ name: String, _ isGood: (String) -> Bool
    ) throws(WNSRefusal) {
        guard let value = request.value(name) else { return }
        guard isGood(value) else { throw WNSRefusal(400, "\(name) is not valid") }
    }

    private func checkPayload(_ request: PushRequest) throws(WNSRefusal) {
        guard request.bodyBytes <= SimulatorLimits.wnsPayloadBytesMax else {
            throw WNSRefusal(413, "The notification payload exceeds the 5000 byte size limit")
        }
        guard !request.body.isEmpty else { throw WNSRefusal(400, "The notification payload is empty") }
        let type = request.value("x-wns-type") ?? ""
        guard let root = Self.types[type], !root.isEmpty else { return }
        guard let outline = XMLOutline(request.body), outline.root?.name == root else {
            throw WNSRefusal(400, "The payload is not a well-formed \(root) document")
        }
        if root == "badge" {
            let value = outline.root?.attributes["value"] ?? ""
            guard Self.badges.contains(value) || UInt32(value) != nil else {
                throw WNSRefusal(400, "The badge's value is not valid")
            }
        } else if !outline.elements.contains(where: { $0.name == "binding" && $0.attributes["template"] != nil }) {
            throw WNSRefusal(400, "The payload has no binding with a template")
        }
    }
}

/// Thrown by a failed check: the status and `X-WNS-Error-Description`.
struct WNSRefusal: Error, Equatable {
    let status: Int
    let description: String

    init(_ status: Int, _ description: String) {
        self.status = status
        self.description = description
    }

    /// The answer, with the headers of every answer.
    func answer(headers: [(name: String, value: String)]) -> HTTPAnswer {
        HTTPAnswer(status, headers: headers + [("x-wns-status", "dropped"), ("x-wns-error-description", description)])
    }
}
