import Foundation

/// FCM in fast mode: finds the device in a body without parsing JSON.
struct FastFCM: FastService {
    /// The body of every success.
    private static let success = Array(#"{"name":"projects/x/messages/0"}"#.utf8)
    /// The body of a request for an access token.
    private static let accessToken = Array(#"{"access_token":"fast","expires_in":3599,"token_type":"Bearer"}"#.utf8)
    private static let accessTokenRoute = Array("/token".utf8)
    private static let keys = [Array(#""token""#.utf8), Array(#""fid""#.utf8), Array(#""topic""#.utf8)]

    let expired = FCMRefusal.expired
    let tooLarge = FaultAnswer(status: 400, reason: FCMErrorCode.invalidArgument.rawValue)
    var successBody: [UInt8] { Self.success }

    func accessToken(path: UnsafeRawBufferPointer) -> [UInt8]? {
        let isRoute =
            path.count == Self.accessTokenRoute.count && path.elementsEqual(Self.accessTokenRoute)
        return isRoute ? Self.accessToken : nil
    }

    func device(
        path: UnsafeRawBufferPointer, _ fingerprint: UInt64, _ body: UnsafeRawBufferPointer
    ) -> (UnsafeRawBufferPointer, UInt64) {
        let found = Self.device(body)
        let device = found.isEmpty ? path : found
        return (device, Fingerprint.of(device, isFoldingCase: false))
    }

    func writeSuccess(id: UnsafeRawBufferPointer, stream: UInt32, _ writer: inout FastWriter) {
        writer.successOfFCM(stream: stream)
    }

    func answer(_ fault: FaultAnswer, id: UnsafeRawBufferPointer) -> HTTPAnswer { FCMRefusal.answer(fault) }

    /// The first string named `token` in `body`, or else `fid` or `topic`, found without parsing. Empty if there is
    /// none.
    static func device(_ body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        for key in keys {
            if let device = text(after: key, in: body) { return device }
        }
        return UnsafeRawBufferPointer(start: nil, count: 0)
    }

    private static func text(after key: [UInt8], in body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard let found = find(key, in: body) else { return nil }
        var position = found + key.count
        for wanted in [UInt8(ascii: ":"), UInt8(ascii: "\"")] {
            while position < body.count, body[position] == 0x20 { position += 1 }
            guard position < body.count, body[position] == wanted else { return nil }
            position += 1
        }
        let rest = UnsafeRawBufferPointer(rebasing: body[position...])
        guard let end = find([UInt8(ascii: "\"")], in: rest) else { return nil }
        return UnsafeRawBufferPointer(rebasing: rest[..<end])
    }

    /// The position of `key`, which begins with a quotation mark, in `body`.
    private static func find(_ key: [UInt8], in body: UnsafeRawBufferPointer) -> Int? {
        guard let start = body.baseAddress else { return nil }
        var position = 0
        while body.count - position >= key.count,
            let mark = memchr(start + position, Int32(UInt8(ascii: "\"")), body.count - position)
        {
            let offset = start.distance(to: UnsafeRawPointer(mark))
            guard body.count - offset >= key.count else { return nil }
            if memcmp(start + offset, key, key.count) == 0 { return offset }
            position = offset + 1
        }
        return nil
    }
}
