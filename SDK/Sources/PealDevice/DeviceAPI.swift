package import Foundation
package import PealWire

/// The device API (docs/api/device.md). Conformers: `HTTPDeviceAPI`; a model of a server in the lifecycle test, where
/// JSON would take most of the time.
package protocol DeviceAPI: Sendable {
    func register(_ registration: Registration) async throws(APIFailure) -> RegistrationAnswer
    func sync(_ request: SyncRequest, as deviceToken: String) async throws(APIFailure) -> SyncAnswer
    func claim(_ message: String, _ request: ClaimRequest, as deviceToken: String) async throws(APIFailure)
        -> ClaimAnswer
    func report(_ events: [DeviceEvent], as deviceToken: String) async throws(APIFailure) -> EventsAnswer
    func setTopic(_ topic: String, isSubscribed: Bool, as deviceToken: String) async throws(APIFailure)
    func unregister(as deviceToken: String) async throws(APIFailure)
}

/// Why a call returned no answer that the device can use.
package enum APIFailure: Error, Sendable, Hashable {
    /// There was no answer, for this reason. The call may have taken effect: repeat it with the same ids.
    case lost(String)
    /// The answer with this status is not Peal's: it comes from another server, or from something in between, such as a
    /// proxy. As with `lost`, the call may have taken effect.
    case foreign(status: Int)
    /// The server asks for a pause.
    case busy(afterSeconds: Int?)
    /// The device's token, or the app's key, is not valid.
    case unauthorized
    /// Final: a retry would be refused too.
    case refused(status: Int, code: String, message: String?, field: String?)

    /// Whether the same call may succeed later.
    package var isTemporary: Bool {
        switch self {
        case .lost, .foreign, .busy: true
        case .unauthorized, .refused: false
        }
    }

    /// Whether the server refused the user of a registration, or the proof.
    package var concernsUser: Bool {
        guard case .refused(_, _, _, let field) = self else { return false }
        return field == "user_proof" || field == "user_id"
    }
}

/// The device API over HTTP.
package struct HTTPDeviceAPI: DeviceAPI {
    private let base: URL
    private let key: String
    private let exchange: any HTTPExchange

    /// - Parameters:
    ///   - server: such as `https://push.example.com`.
    ///   - key: the app's device key.
    package init(server: URL, key: String, exchange: any HTTPExchange) {
        base = server.appendingPathComponent("peal/device/v1", isDirectory: true)
        (self.key, self.exchange) = (key, exchange)
    }

    package func register(_ registration: Registration) async throws(APIFailure) -> RegistrationAnswer {
        try read(await call("POST", "register", body: registration, as: key))
    }

    package func sync(_ request: SyncRequest, as deviceToken: String) async throws(APIFailure) -> SyncAnswer {
        try read(await call("POST", "sync", body: request, as: deviceToken))
    }

    /// 409 is an answer, not a failure.
    package func claim(
        _ message: String, _ request: ClaimRequest, as deviceToken: String
    ) async throws(APIFailure) -> ClaimAnswer {
        try read(
            await call("POST", "messages/\(message)/claim", body: request, as: deviceToken, allowing: 409))
    }

    package func report(_ events: [DeviceEvent], as deviceToken: String) async throws(APIFailure) -> EventsAnswer {
        try read(await call("POST", "events", body: events, as: deviceToken))
    }

    package func setTopic(
        _ topic: String, isSubscribed: Bool, as deviceToken: String
    ) async throws(APIFailure) {
        let name = topic.addingPercentEncoding(withAllowedCharacters: Self.unreserved) ?? topic
        try await change(isSubscribed ? "PUT" : "DELETE", "topics/\(name)", as: deviceToken)
    }

    package func unregister(as deviceToken: String) async throws(APIFailure) {
        try await change("DELETE", "registration", as: deviceToken)
    }

    private struct Nothing: Encodable {}

    /// A call whose answer is empty. A page instead, such as one of a captive portal, counts as no answer.
    private func change(_ method: String, _ path: String, as deviceToken: String) async throws(APIFailure) {
        let response = try await call(method, path, body: Nothing?.none, as: deviceToken)
        guard response.status == 204 else { throw .foreign(status: response.status) }
    }

    /// RFC 3986 §2.3.
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    private func call(
        _ method: String, _ path: String, body: (some Encodable)?, as bearer: String, allowing allowed: Int? = nil
    ) async throws(APIFailure) -> HTTPResponse {
        guard let url = URL(string: base.absoluteString + path), url.host?.isEmpty == false,
            ["http", "https"].contains(url.scheme?.lowercased())
        else {
            throw .refused(
                status: 0, code: "invalid_field", message: "server must be a URL such as https://push.example.com",
                field: "server")
        }
        var request = HTTPRequest(method, url, headers: ["authorization": "Bearer \(bearer)"])
        if let body {
            guard let data = try? JSONEncoder().encode(body) else {
                throw .refused(status: 0, code: "invalid_field", message: "not JSON", field: nil)
            }
            request.headers["content-type"] = "application/json"
            request.body = data
        }
        let response: HTTPResponse
        do { response = try await exchange.send(request) } catch { throw .lost(error.localizedDescription) }
        if (200...299).contains(response.status) || response.status == allowed { return response }
        throw failure(response)
    }

    private func failure(_ response: HTTPResponse) -> APIFailure {
        switch response.status {
        case 408, 425, 429, 500...: return .busy(afterSeconds: Self.pause(response.headers))
        default:
            let error = (try? JSONDecoder().decode(ErrorAnswer.self, from: response.body))?.error
            // Only Peal's own refusals are final. A redirect or a page comes from something in between, such as a
            // captive portal or a proxy with its own password, and must not cost the device its token and user. A 413
            // is true whatever sent it.
            guard error != nil || response.status == 413 else { return .foreign(status: response.status) }
            guard response.status != 401 else { return .unauthorized }
            return .refused(
                status: response.status, code: error?.code ?? "payload_too_large", message: error?.message,
                field: error?.field)
        }
    }

    /// What `Retry-After` asks for: seconds, or a date (RFC 9110 §10.2.3), which is by the clock of whoever answered.
    private static func pause(_ headers: [String: String]) -> Int? {
        guard let text = headers["retry-after"] else { return nil }
        if let seconds = Int(text) { return seconds }
        let reader = DateFormatter()
        reader.locale = Locale(identifier: "en_US_POSIX")
        reader.timeZone = TimeZone(secondsFromGMT: 0)
        reader.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard let end = reader.date(from: text) else { return nil }
        let now = headers["date"].flatMap { reader.date(from: $0) } ?? Date()
        return Int(min(max(end.timeIntervalSince(now), 0), 86_400))
    }

    /// An unreadable body of a 2xx, such as one from a captive portal, counts as no answer.
    private func read<Answer: Decodable>(_ response: HTTPResponse) throws(APIFailure) -> Answer {
        guard let answer = try? JSONDecoder().decode(Answer.self, from: response.body) else {
            throw .foreign(status: response.status)
        }
        return answer
    }
}
