import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import PealDevice
import Synchronization

/// Requests of phones, of the message's author and to the simulator, over one pool of connections.
///
/// A pool that could not connect waits longer with each failed connection, up to a minute. With hundreds of phones it
/// reaches that while a server is killed and started again. So a pool that could not connect is replaced.
final class PhonesHTTP: HTTPExchange, Sendable {
    private struct State {
        var client: HTTPClient
        var since = ContinuousClock.now
        /// They may still have requests.
        var replaced: [HTTPClient] = []
    }

    private static let bytesMax = 256 << 20
    private static let lifeMin: Duration = .milliseconds(500)

    private let state = Mutex(State(client: PhonesHTTP.client()))

    private static func client() -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.idleTimeout = .seconds(30)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        configuration.timeout.connect = .seconds(5)
        return HTTPClient(configuration: configuration)
    }

    func send(_ request: PealDevice.HTTPRequest) async throws -> PealDevice.HTTPResponse {
        var order = HTTPClientRequest(url: request.url.absoluteString)
        order.method = .RAW(value: request.method)
        for (name, value) in request.headers { order.headers.add(name: name, value: value) }
        if let body = request.body { order.body = .bytes(ByteBuffer(bytes: body)) }
        let client = state.withLock { $0.client }
        let answer: HTTPClientResponse
        do {
            answer = try await client.execute(order, timeout: .seconds(20))
        } catch {
            if Self.couldNotConnect(error) { replace(client) }
            throw error
        }
        let body = try await answer.body.collect(upTo: Self.bytesMax)
        let headers = answer.headers.map { ($0.name.lowercased(), $0.value) }
        return PealDevice.HTTPResponse(
            Int(answer.status.code), headers: Dictionary(headers) { $1 }, body: Data(body.readableBytesView))
    }

    private static func couldNotConnect(_ error: any Error) -> Bool {
        if error is NIOConnectionError || error is IOError || error is ChannelError { return true }
        let error = error as? HTTPClientError
        return error == .connectTimeout || error == .getConnectionFromPoolTimeout || error == .deadlineExceeded
    }

    private func replace(_ failed: HTTPClient) {
        state.withLock { state in
            guard state.client === failed, ContinuousClock.now - state.since > Self.lifeMin else { return }
            state.replaced.append(failed)
            state.client = Self.client()
            state.since = .now
        }
    }

    func close() async {
        let clients = state.withLock { $0.replaced + [$0.client] }
        for client in clients { try? await client.shutdown() }
    }
}

/// JSON as dictionaries and arrays.
struct PhonesJSON: @unchecked Sendable {
    // Unchecked: created by JSONSerialization and never changed.
    let value: Any?

    subscript(name: String) -> PhonesJSON { PhonesJSON(value: (value as? [String: Any])?[name]) }
    var text: String? { value as? String }
    var number: Double? { (value as? NSNumber)?.doubleValue }
    var integer: Int? { (value as? NSNumber)?.intValue }
    var list: [PhonesJSON] { (value as? [Any] ?? []).map { PhonesJSON(value: $0) } }
    var members: [String: Any] { value as? [String: Any] ?? [:] }
}

/// The native API, as the message's author uses it.
struct AuthorAPI: Sendable {
    let http: PhonesHTTP
    /// Such as `http://127.0.0.1:8080`.
    let server: String
    let app: String
    let key: String

    /// How long an author waits for a server that is being restarted.
    private static let patience: Duration = .seconds(120)

    /// Repeats the request until it is answered with something else than 429 or 5xx.
    /// - Returns: status and body. A repeated POST is the same request: it carries an idempotency key.
    /// - Throws: if the server did not answer in time.
    func call(_ method: String, _ path: String, _ body: [String: Any]? = nil) async throws -> (Int, PhonesJSON) {
        guard let url = URL(string: "\(server)/peal/v1/apps/\(app)\(path)") else {
            throw PhonesFailure("--server: no URL")
        }
        var request = PealDevice.HTTPRequest(method, url)
        request.headers = ["authorization": "Bearer \(key)", "content-type": "application/json"]
        if method == "POST" { request.headers["idempotency-key"] = UUID().uuidString }
        request.body = try body.map { try JSONSerialization.data(withJSONObject: $0) }
        let end = ContinuousClock.now + Self.patience
        var last = "no answer"
        while ContinuousClock.now < end {
            if let answer = try? await http.send(request) {
                let json = PhonesJSON(value: try? JSONSerialization.jsonObject(with: answer.body))
                // A repetition may find the first one running.
                let isRunning = answer.status == 409 && answer.headers["retry-after"] != nil
                guard isRunning || answer.status == 429 || answer.status >= 500 else { return (answer.status, json) }
                last = "\(answer.status)"
            }
            try await Task.sleep(for: .milliseconds(200))
        }
        throw PhonesFailure("\(method) \(path): \(last)")
    }

    /// Whether the server knows a device of the user.
    func knows(user: String) async throws -> Bool {
        try await !insist("GET", "/devices?user_id=\(user)")["items"].list.isEmpty
    }

    /// Like `call`, for a request that must succeed.
    func insist(_ method: String, _ path: String, _ body: [String: Any]? = nil) async throws -> PhonesJSON {
        let (status, json) = try await call(method, path, body)
        guard (200..<300).contains(status) else {
            throw PhonesFailure("\(method) \(path): \(status) \(json["error"]["message"].text ?? "")")
        }
        return json
    }
}

/// What the simulated networks delivered.
actor SimulatedInbox {
    private static let pageItems = 5000
    private static let pollInterval: Duration = .milliseconds(120)

    let http: PhonesHTTP
    /// The simulator's `control_url`.
    let control: String
    private var last = 0

    init(http: PhonesHTTP, control: String) {
        (self.http, self.control) = (http, control)
    }

    /// A push to a phone.
    struct Item: Sendable {
        let device: String
        let isWake: Bool
        /// The payload that the app receives: APNs' payload, or FCM's data.
        let payload: PhonesJSON
        /// Whether Android itself shows it, without starting the app.
        let isShownBySystem: Bool
        /// Milliseconds since 1970.
        let at: Int64

        /// An item of the inbox; nil for one of another network.
        init?(_ item: PhonesJSON) {
            guard let device = item["device"].text else { return nil }
            (self.device, at) = (device, Int64(item["at"].number ?? 0))
            switch item["provider"].text {
            case "apns":
                payload = item["payload"]
                (isWake, isShownBySystem) = (item["headers"]["apns-push-type"].text == "background", false)
            case "fcm":
                payload = item["payload"]["data"]
                (isWake, isShownBySystem) = (payload["w"].text != nil, item["payload"]["notification"].value != nil)
            default: return nil
            }
        }
    }

    /// Waits at least `least`, and then until nothing more arrives for two intervals.
    func settle(_ least: Duration) async throws -> [Item] {
        let end = ContinuousClock.now + least
        var (items, quiet): ([Item], Int) = ([], 0)
        while quiet < 2 {
            try await Task.sleep(for: Self.pollInterval)
            let fresh = try await page()
            items += fresh
            quiet = fresh.isEmpty && ContinuousClock.now >= end ? quiet + 1 : 0
        }
        return items
    }

    private func page() async throws -> [Item] {
        guard let url = URL(string: "\(control)/inbox?after=\(last)&limit=\(Self.pageItems)") else {
            throw PhonesFailure("--simulator: no URL")
        }
        let answer = try await http.send(PealDevice.HTTPRequest("GET", url))
        let json = PhonesJSON(value: try? JSONSerialization.jsonObject(with: answer.body))
        return json["items"].list.compactMap { item in
            last = max(last, item["seq"].integer ?? 0)
            return Item(item)
        }
    }
}
