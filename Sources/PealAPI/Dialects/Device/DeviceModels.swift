internal import Crypto
internal import HTTPTypes
internal import PealCore

/// `GET model`: the newest signed model of a campaign.
struct DeviceModels: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func newest(_ call: Call) async throws -> Answer {
        let caller = try call.device()
        let release = try await services.models.newest(
            of: call.query["campaign"] ?? "", app: caller.installation.app, now: call.now)
        let bytes = release.json.bytes
        let tag = "\"\(Hex.encode(Array(SHA256.hash(data: bytes).prefix(16))))\""
        var answer = Answer(.notModified)
        if !call.has(tag: tag) { answer = Answer(.ok, bytes: bytes, type: Answer.jsonType) }
        answer.headers[.eTag] = tag
        answer.headers[.cacheControl] = "private, no-cache"
        return answer
    }
}
