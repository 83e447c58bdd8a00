import Crypto
import CryptoExtras
import Foundation
import NIOCore
import NIOSSL
import Synchronization
import Testing

@testable import PealSimulator

/// A simulator without open ports, with a clock that a test moves.
struct SimulatorFixture {
    /// Moves the time.
    final class Time: Sendable {
        let milliseconds = Atomic<Int64>(SigningAccount.now * 1_000)

        func advance(seconds: Int64) { milliseconds.add(seconds * 1_000, ordering: .relaxed) }
    }

    static let host = "127.0.0.1:4433"
    let parts: SimulatorParts
    let authority: CertificateAuthority
    let time = Time()
    let apns: SimulatedAPNs
    let fcm: SimulatedFCM
    let webPush: SimulatedWebPush
    let listeners: [ListenerName: Listener]

    init(yaml: String? = nil, _ change: (inout SimulatorOptions) -> Void = { _ in }) throws {
        var options = SimulatorOptions(directory: "")
        options.scriptYAML = yaml
        let time = time
        options.clock = SimulatorClock { time.milliseconds.load(ordering: .relaxed) }
        change(&options)
        authority = try CertificateAuthority(now: Date(timeIntervalSince1970: Double(SigningAccount.now)))
        parts = try SimulatorParts(options, authority)
        apns = try #require(parts.network(SimulatedAPNs.self))
        fcm = try #require(parts.network(SimulatedFCM.self))
        webPush = try #require(parts.network(SimulatedWebPush.self))
        listeners = Dictionary(uniqueKeysWithValues: parts.listeners.map { ($0.name, $0) })
        webPush.subscriptions.open(at: "https://\(Self.host)")
    }

    /// The client certificate of `bundleID` as presented in TLS.
    func certificate(_ bundleID: String) throws -> [UInt8] {
        let now = Date(timeIntervalSince1970: Double(SigningAccount.now))
        let pem = try authority.clientIdentity(bundleID: bundleID, now: now).certificatePEM
        return try NIOSSLCertificate(bytes: Array(pem.utf8), format: .pem).toDERBytes()
    }

    /// Passes `request` to a listener, on the connection of `memory`.
    func reply(_ name: ListenerName, _ request: PushRequest, _ memory: inout ConnectionMemory) throws -> ConnectionReply
    {
        try #require(listeners[name]).responder.receive(request, memory: &memory)
    }

    /// Passes `request` to a listener, on a new connection.
    func answer(_ name: ListenerName, _ request: PushRequest) throws -> HTTPAnswer {
        var memory = ConnectionMemory()
        let reply = try reply(name, request, &memory)
        guard case .answer(let answer) = reply.action else { throw SimulatorError("no answer: \(reply)") }
        return answer
    }

    static func request(
        _ path: String, method: String = "POST", body: some Collection<UInt8> = [UInt8](),
        _ headers: [String: String] = [:]
    ) -> PushRequest {
        var request = PushRequest(
            method: method, path: path, headers: headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) },
            body: Array(body))
        request.authority = host
        return request
    }

    /// The items of the inbox as JSON.
    func items() throws -> [JSONValue] {
        let text = parts.shared.inbox.itemsJSON(after: 0, limit: 100)
        guard case .array(let items)? = JSONValue(bytes: Array(text.utf8))?["items"] else { return [] }
        return items
    }

    /// An access token that is valid for an hour.
    func accessToken(_ provider: PushProvider, scopes: Set<String> = GoogleAuthorization.sendingScopes) -> String {
        let expires = time.milliseconds.load(ordering: .relaxed) + 3_600_000
        return parts.shared.accessTokens.issue(
            .init(provider: provider, scopes: scopes, expiresAtMilliseconds: expires), prefix: "test.")
    }

    /// `header.claims.signature`, with an empty signature if `sign` returns nothing.
    static func jwt(header: String, claims: String, sign: (Data) throws -> Data) rethrows -> String {
        let text = [header, claims].map { URLSafeBase64.encode(Data($0.utf8)) }.joined(separator: ".")
        return text + "." + URLSafeBase64.encode(try sign(Data(text.utf8)))
    }
}

extension HTTPAnswer {
    /// The body as JSON.
    var value: JSONValue? { JSONValue(bytes: body) }

    /// The first value of the header `name`.
    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
