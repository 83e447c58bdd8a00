internal import CZlib
internal import NIOCore
internal import PealCore

/// Undoes a body's `Content-Encoding` while the body is received: takes pieces as they arrive and returns decoded ones
/// of a bounded size. The caller stops at the limit for bodies, so a small body cannot expand into a huge one.
final class BodyDecoder {
    static let fieldName = "Content-Encoding"
    private static let pieceBytes = 64 * 1024
    /// A gzip header is expected (RFC 1952), with the largest window.
    private static let gzipWindowBits: Int32 = 15 + 16

    /// nil for a body that is not encoded. zlib keeps the address, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>?
    private var input = ByteBuffer()
    /// Whether the input so far ends where the encoded data ends.
    private var isComplete = false
    /// Whether zlib may have more output for input that it has already taken.
    private var isPending = false

    /// - Parameter encoding: the header's value.
    /// - Throws: `unsupported_media_type` for an encoding other than gzip.
    init(_ encoding: String?) throws(PealError) {
        let name = (encoding ?? "").filter { $0 != " " && $0 != "\t" }.lowercased()
        switch name {
        case "", "identity": stream = nil
        case "gzip", "x-gzip":
            let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
            stream.initialize(to: z_stream())
            let size = Int32(MemoryLayout<z_stream>.size)
            guard inflateInit2_(stream, Self.gzipWindowBits, ZLIB_VERSION, size) == Z_OK else {
                stream.deallocate()
                throw PealError(.unavailable, "out of memory while decoding the body")
            }
            self.stream = stream
        default:
            throw PealError(
                .unsupportedMediaType, "Content-Encoding must be gzip, or the body not encoded",
                field: Self.fieldName)
        }
    }

    deinit {
        guard let stream else { return }
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Takes a piece as it was received. The previous one must have been decoded.
    func receive(_ buffer: ByteBuffer) { input = buffer }

    /// - Returns: a decoded piece; nil when more must be received first.
    /// - Throws: `invalid_field` for data that is not gzip.
    func next() throws(PealError) -> ByteBuffer? {
        guard let stream else {
            defer { input = ByteBuffer() }
            return input.readableBytes > 0 ? input : nil
        }
        while input.readableBytes > 0 || isPending {
            let output = try inflated(stream)
            if output.readableBytes > 0 { return output }
        }
        return nil
    }

    /// The body is complete.
    /// - Throws: `invalid_field` if the encoded data is incomplete.
    func end() throws(PealError) {
        guard stream == nil || isComplete else { throw Self.invalid }
    }

    private func inflated(_ stream: UnsafeMutablePointer<z_stream>) throws(PealError) -> ByteBuffer {
        // A body may consist of several gzip members (RFC 1952 §2.2).
        if isComplete { inflateReset(stream) }
        var output = ByteBuffer()
        var result = Z_OK
        let given = input.readableBytes
        input.withUnsafeMutableReadableBytes { bytes in
            stream.pointee.next_in = bytes.baseAddress?.assumingMemoryBound(to: Bytef.self)
            stream.pointee.avail_in = UInt32(bytes.count)
            output.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.pieceBytes) { room in
                stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: Bytef.self)
                stream.pointee.avail_out = UInt32(Self.pieceBytes)
                result = inflate(stream, Z_NO_FLUSH)
                return Self.pieceBytes - Int(stream.pointee.avail_out)
            }
        }
        input.moveReaderIndex(forwardBy: given - Int(stream.pointee.avail_in))
        isComplete = result == Z_STREAM_END
        isPending = result == Z_OK && stream.pointee.avail_out == 0
        // Z_BUF_ERROR: zlib needs more input.
        guard result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR && input.readableBytes == 0 else {
            throw Self.invalid
        }
        return output
    }

    private static let invalid = PealError.invalid(fieldName, "the body is not valid gzip")
}
