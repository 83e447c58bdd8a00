import NIOCore
import NIOHTTP1
import PealCore

/// Manages the broadcast channels of apps at APNs, which stores them ("Sending channel management requests to APNs").
final class APNsChannels: ChannelDirectory {
    private let production: RemoteEndpoint
    private let sandbox: RemoteEndpoint
    private let caFile: String?
    private let group: any EventLoopGroup
    private let tokens: ProviderTokenTable
    private let time: any TimeSource
    private let randomness: any Randomness
    /// For provider tokens. Each request with a certificate uses its own client.
    private let client: OutboundClient

    /// - Throws: if the CA file cannot be read.
    init(
        production: RemoteEndpoint, sandbox: RemoteEndpoint, caFile: String?, group: any EventLoopGroup,
        tokens: ProviderTokenTable, time: any TimeSource, randomness: any Randomness
    ) throws {
        self.production = production
        self.sandbox = sandbox
        self.caFile = caFile
        self.group = group
        self.tokens = tokens
        self.time = time
        self.randomness = randomness
        client = try OutboundClient(.init(caFile: caFile, allowsHTTP2: true), group: group, time: time)
    }

    func create(_ policy: ChannelStoragePolicy, _ access: ChannelAccess) async throws(PealError) -> String {
        let body: JSON = ["message-storage-policy": .integer(policy.rawValue), "push-type": "LiveActivity"]
        let reply = try await ask(.POST, "channels", body: body.bytes, access)
        guard let id = reply.headers.first(name: "apns-channel-id"), !id.isEmpty else {
            throw PealError(.unavailable, "APNs created a channel but did not return its id")
        }
        return id
    }

    func list(_ access: ChannelAccess) async throws(PealError) -> [String] {
        let reply = try await ask(.GET, "all-channels", access)
        guard let channels = (try? JSONParser.parse(reply.body))?["channels"]?.arrayValue else {
            throw PealError(.unavailable, "cannot read APNs' list of channels")
        }
        return channels.compactMap(\.stringValue)
    }

    func read(_ channel: String, _ access: ChannelAccess) async throws(PealError) -> ChannelStoragePolicy {
        let reply = try await ask(.GET, "channels", channel: channel, access)
        let number = (try? JSONParser.parse(reply.body))?["message-storage-policy"]?.integerValue
        guard let policy = number.flatMap(ChannelStoragePolicy.init(rawValue:)) else {
            throw PealError(.unavailable, "cannot read APNs' description of the channel")
        }
        return policy
    }

    func delete(_ channel: String, _ access: ChannelAccess) async throws(PealError) {
        _ = try await ask(.DELETE, "channels", channel: channel, access)
    }

    /// Closes every connection.
    func close() async { await client.close() }

    private func ask(
        _ method: HTTPMethod, _ path: String, channel: String? = nil, body: [UInt8] = [], _ access: ChannelAccess
    ) async throws(PealError) -> OutboundReply {
        let endpoint = access.environment == .production ? production : sandbox
        var request = OutboundRequest(
            method: method,
            url: "https://\(endpoint.authority)/1/apps/\(access.credential.providerAppID)/\(path)", body: body,
            replyBytesMax: Limits.channelListBytesMax)
        let id: Identifier<APNsChannels> = randomness.identifier()
        request.headers.add(name: "apns-request-id", value: "\(id)")
        if let channel { request.headers.add(name: "apns-channel-id", value: channel) }
        if !body.isEmpty { request.headers.add(name: "content-type", value: "application/json") }
        switch access.credential.apns {
        case .token(let signing):
            return try await ask(request, isOfChannel: channel != nil, try tokens.tokens(for: signing))
        case .certificate(let certificate):
            return try await ask(request, isOfChannel: channel != nil, certificate.identity)
        case .archive, nil: throw .unsupported("kind")
        }
    }

    private func ask(
        _ request: OutboundRequest, isOfChannel: Bool, _ tokens: ProviderTokens
    ) async throws(PealError) -> OutboundReply {
        var request = request
        await tokens.ready()
        for isLast in [false, true] {
            guard let authorization = tokens.authorization else { break }
            request.headers.replaceOrAdd(
                name: "authorization", value: String(decoding: authorization.value, as: UTF8.self))
            let reply = try await send(request, client)
            guard let refusal = APNsChannelRefusal(reply, now: time.now) else { return reply }
            if refusal.reason == "TooManyProviderTokenUpdates" { tokens.updatedTooOften() }
            // Retry once if the provider token was old; a young one cannot be the reason.
            guard !isLast, refusal.reason == "ExpiredProviderToken", tokens.expired() else {
                throw refusal.error(isOfChannel: isOfChannel)
            }
        }
        throw PealError(.unavailable, "cannot sign a provider token")
    }

    private func ask(
        _ request: OutboundRequest, isOfChannel: Bool, _ identity: Credential.TLSIdentity
    ) async throws(PealError) -> OutboundReply {
        let options = OutboundClient.Options(caFile: caFile, identity: identity, allowsHTTP2: true)
        guard let client = try? OutboundClient(options, group: group, time: time) else {
            throw PealError(.unavailable, "cannot use the certificate")
        }
        let result: Result<OutboundReply, PealError>
        do throws(PealError) {
            result = .success(try await send(request, client))
        } catch {
            result = .failure(error)
        }
        await client.close()
        let reply = try result.get()
        if let refusal = APNsChannelRefusal(reply, now: time.now) { throw refusal.error(isOfChannel: isOfChannel) }
        return reply
    }

    private func send(_ request: OutboundRequest, _ client: OutboundClient) async throws(PealError) -> OutboundReply {
        do throws(OutboundFailure) {
            return try await client.send(request)
        } catch {
            let reason = error.answer.reason
            throw error.isUnwritten
                ? PealError(.unavailable, "cannot reach APNs' channel management (\(reason))")
                : PealError(
                    .unavailable,
                    "APNs' channel management did not answer (\(reason)); the request may have taken effect")
        }
    }
}

/// APNs' refusal of a channel request ("Handling error responses from Apple Push Notification service").
struct APNsChannelRefusal {
    let status: Int
    /// Apple's reason; empty if there is none.
    let reason: String
    private let retryAfterSeconds: Int?

    /// nil if the request succeeded.
    init?(_ reply: OutboundReply, now: Timestamp) {
        guard !(200..<300).contains(reply.status) else { return nil }
        status = reply.status
        let document = (try? JSONParser.parse(reply.body)) ?? .null
        reason = APNsExchange.reason(in: document)
        retryAfterSeconds = reply.retryAfter(now: now).map { Int($0.components.seconds) }
    }

    /// - Parameter isOfChannel: whether the request named a channel.
    func error(isOfChannel: Bool) -> PealError {
        let words = reason.isEmpty ? "APNs answered \(status)" : "APNs answered \(status) \(reason)"
        switch (status, reason) {
        case (400, "ChannelNotRegistered"): return PealError(.notFound, "channel not found: \(words)")
        // The path is always the same, so a 404 can only mean that the channel was deleted.
        case (404, _) where isOfChannel: return PealError(.notFound, "channel not found: \(words)")
        case (400, "BadChannelId"), (400, "MissingChannelId"): return .invalid("id", words)
        case (400, "CannotCreateChannelConfig"):
            return PealError(.conflict, "the app has reached APNs' limit on channels: \(words)")
        case (400, "FeatureNotEnabled"):
            return PealError(.conflict, "broadcasts are not enabled for the app in Apple's developer account: \(words)")
        case (403, _): return PealError(.conflict, "APNs refused the credential: \(words)")
        case (429, _): return PealError(.rateLimited, words, retryAfterSeconds: retryAfterSeconds ?? 60)
        case (500..., _): return PealError(.unavailable, words, retryAfterSeconds: retryAfterSeconds)
        default: return PealError(.conflict, words)
        }
    }
}
