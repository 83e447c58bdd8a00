internal import NIOCore
internal import NIOHTTP1
internal import PealCore

/// Refuses HTTP/1 requests whose `Host` is ambiguous, with 400 and the end of the connection: HTTP/1.1 without one, and
/// any request with several or an invalid one (RFC 9112 §3.2). A proxy and the server could read them differently. It
/// also refuses fields with too many combining marks, before anything compares them.
final class HostCheck: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    /// A request was refused; what follows it is dropped.
    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        if case .head(let head) = Self.unwrapInboundIn(data), !Self.accepts(head) {
            isRefused = true
            // Hummingbird answers a parser's error with 400, after the answers of earlier requests.
            return context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
        }
        context.fireChannelRead(data)
    }

    private static func accepts(_ head: HTTPRequestHead) -> Bool {
        guard !head.headers.contains(where: { CombiningMarks.areTooMany(in: $0.value) }) else { return false }
        let hosts = head.headers["host"]
        guard let host = hosts.first else { return (head.version.major, head.version.minor) < (1, 1) }
        return hosts.count == 1 && isHost(host)
    }

    /// Whether the text is `uri-host [":" port]` (RFC 3986 §3.2.2). It may be empty.
    static func isHost(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard let end = bytes.first == UInt8(ascii: "[") ? literalEnd(bytes) : nameEnd(bytes) else { return false }
        guard end < bytes.count else { return true }
        return bytes[end] == UInt8(ascii: ":") && bytes[(end + 1)...].allSatisfy(isDigit)
    }

    /// The position after an address in brackets; nil if the bracket is not closed.
    private static func literalEnd(_ bytes: [UInt8]) -> Int? {
        guard let close = bytes.firstIndex(of: UInt8(ascii: "]")), close > 1 else { return nil }
        let inner = bytes[1..<close]
        return inner.allSatisfy { isNameByte($0) || $0 == UInt8(ascii: ":") } ? close + 1 : nil
    }

    /// The position after a name or an IPv4 address; nil if it contains anything else.
    private static func nameEnd(_ bytes: [UInt8]) -> Int? {
        let end = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.count
        var position = 0
        while position < end {
            if bytes[position] == UInt8(ascii: "%") {
                guard position + 2 < end, isHexDigit(bytes[position + 1]), isHexDigit(bytes[position + 2]) else {
                    return nil
                }
                position += 2
            } else if !isNameByte(bytes[position]) {
                return nil
            }
            position += 1
        }
        return end
    }

    private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte | 0x20
    }

    /// Unreserved characters and sub-delimiters.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || "-._~!$&'()*+,;=".utf8.contains(byte)
    }
}
