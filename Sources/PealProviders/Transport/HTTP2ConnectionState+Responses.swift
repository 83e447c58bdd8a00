import NIOCore
import NIOHPACK
import PealCore

/// HEADERS, CONTINUATION, DATA and RST_STREAM: the responses.
extension HTTP2ConnectionState {
    mutating func takeHeaders(
        _ header: HTTP2Frame.Header, _ payload: ByteBuffer, into out: inout ByteBuffer, endings: inout StreamEndings
    ) throws(HTTP2Fault) {
        try requireBegun(header.streamID)
        var block = try unpadded(header, payload)
        if header.has(HTTP2Frame.Flag.priority) {
            guard block.readableBytes >= 5 else {
                throw HTTP2Fault(.frameSizeError, "HEADERS too short for its priority")
            }
            block.moveReaderIndex(forwardBy: 5)
        }
        let endsStream = header.has(HTTP2Frame.Flag.endStream)
        guard header.has(HTTP2Frame.Flag.endHeaders) else {
            headerBlock = OpenHeaderBlock(streamID: header.streamID, endsStream: endsStream, bytes: block)
            return
        }
        try takeBlock(&block, header.streamID, endsStream: endsStream, into: &out, endings: &endings)
    }

    mutating func takeContinuation(
        _ header: HTTP2Frame.Header, _ payload: ByteBuffer, into out: inout ByteBuffer, endings: inout StreamEndings
    ) throws(HTTP2Fault) {
        guard var block = headerBlock else { throw HTTP2Fault(.protocolError, "CONTINUATION without a header block") }
        guard block.bytes.readableBytes + payload.readableBytes <= Self.headerBytesMax else {
            throw HTTP2Fault(.enhanceYourCalm, "header block too large")
        }
        headerBlock = nil
        block.bytes.writeImmutableBuffer(payload)
        guard header.has(HTTP2Frame.Flag.endHeaders) else {
            headerBlock = block
            return
        }
        try takeBlock(&block.bytes, block.streamID, endsStream: block.endsStream, into: &out, endings: &endings)
    }

    /// Decodes a complete block, even for a stream that is no longer open, because the table must follow the peer's.
    private mutating func takeBlock(
        _ block: inout ByteBuffer, _ streamID: UInt32, endsStream: Bool, into out: inout ByteBuffer,
        endings: inout StreamEndings
    ) throws(HTTP2Fault) {
        if endsStream, remarkName == nil, let slotIndex = streams.find(streamID), streams[slotIndex].status == 0,
            HeaderSkim.isPlainSuccess(block)
        {
            return finish(slotIndex, status: 200, into: &out, endings: &endings)
        }
        let headers: HPACKHeaders
        do { headers = try decoder.decodeHeaders(from: &block) } catch {
            throw HTTP2Fault(.compressionError, "header block cannot be decoded")
        }
        guard let slotIndex = streams.find(streamID) else { return }
        guard streams[slotIndex].status == 0 else {
            // Trailers end the stream and carry no status (RFC 9113 §8.1).
            guard endsStream, !headers.contains(name: ":status") else {
                return resetStream(slotIndex, .protocolError, reason: "BadResponse", into: &out, endings: &endings)
            }
            return finish(slotIndex, status: Int(streams[slotIndex].status), into: &out, endings: &endings)
        }
        guard let status = Self.status(of: headers), status >= 200 || !endsStream else {
            return resetStream(slotIndex, .protocolError, reason: "BadResponse", into: &out, endings: &endings)
        }
        guard status >= 200 else { return }
        streams[slotIndex].status = Int16(status)
        if status != 200, let retryAfter = headers.first(name: "retry-after").flatMap(RetryAfter.init) {
            drafts[streamID, default: ProviderResponse(status: status)].retryAfter = retryAfter
        }
        if status == 403, let date = headers.first(name: "date").flatMap(HTTPDate.timestamp) {
            drafts[streamID, default: ProviderResponse(status: status)].date = date
        }
        if status == 200, let text = remarkName.flatMap({ headers.first(name: $0) }), Self.isRemark(text) {
            drafts[streamID, default: ProviderResponse(status: status)].remark = text
        }
        if endsStream { finish(slotIndex, status: status, into: &out, endings: &endings) }
    }

    /// Whether the text is short and printable, so that it can go into logs and lists.
    private static func isRemark(_ text: String) -> Bool {
        (1...Limits.logReasonBytesMax).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// The status, if it is exactly three digits (RFC 9110 §15).
    private static func status(of headers: HPACKHeaders) -> Int? {
        guard let text = headers.first(name: ":status"), text.utf8.count == 3 else { return nil }
        var status = 0
        for digit in text.utf8 {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            status = status * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return status >= 100 ? status : nil
    }

    mutating func takeData(
        _ header: HTTP2Frame.Header, _ payload: ByteBuffer, into out: inout ByteBuffer, endings: inout StreamEndings
    ) throws(HTTP2Fault) {
        try requireBegun(header.streamID)
        receiveWindow -= payload.readableBytes
        receivedBytes += payload.readableBytes
        guard receiveWindow >= 0 else { throw HTTP2Fault(.flowControlError, "DATA exceeds the flow-control window") }
        let content = try unpadded(header, payload)
        guard let slotIndex = streams.find(header.streamID) else { return }
        let status = Int(streams[slotIndex].status)
        guard status != 0 else {
            return resetStream(slotIndex, .protocolError, reason: "BadResponse", into: &out, endings: &endings)
        }
        if content.readableBytes > 0 { quietFrames = 0 }
        let isTooLong = !keep(content, of: slotIndex)
        if header.has(HTTP2Frame.Flag.endStream) {
            finish(slotIndex, status: status, into: &out, endings: &endings)
        } else if isTooLong {
            // The status is known and the rest of the body adds nothing.
            out.writeNumberFrame(HTTP2Frame.Kind.reset, streamID: header.streamID, HTTP2Code.cancel.rawValue)
            pendingBodies.removeAll { $0.streamID == header.streamID }
            finish(slotIndex, status: status, into: &out, endings: &endings)
        }
    }

    /// Counts a body up to the limit and keeps it unless the status is 200. Returns false if it exceeds the limit.
    /// Reading on would wait forever for a flow-control window that nothing opens.
    private mutating func keep(_ content: ByteBuffer, of slotIndex: Int) -> Bool {
        let room = Limits.responseBodyBytesMax - Int(streams[slotIndex].bodyBytes)
        let kept = min(content.readableBytes, room)
        streams[slotIndex].bodyBytes += Int32(kept)
        let status = Int(streams[slotIndex].status)
        if status != 200 {
            drafts[streams[slotIndex].id, default: ProviderResponse(status: status)].body.append(
                contentsOf: content.readableBytesView.prefix(kept))
        }
        return content.readableBytes <= room
    }

    mutating func takeReset(
        _ header: HTTP2Frame.Header, _ payload: ByteBuffer, endings: inout StreamEndings
    ) throws(HTTP2Fault) {
        try requireBegun(header.streamID)
        guard payload.readableBytes == 4, let code = payload.getInteger(at: payload.readerIndex, as: UInt32.self)
        else { throw HTTP2Fault(.frameSizeError, "RST_STREAM of invalid size") }
        // A peer may reset a stream after a complete response (RFC 9113 §8.1). The stream is then already closed here.
        guard let slotIndex = streams.find(header.streamID) else { return }
        quietFrames = 0
        let isRefused = code == HTTP2Code.refusedStream.rawValue
        cutOff(slotIndex, isRefused ? .unprocessed : .lost("StreamReset"), endings: &endings)
    }

    /// Ends a stream whose response is incomplete: as `kind`, unless the status has arrived. The status says what
    /// became of the request, and an accepted request must not be resent.
    mutating func cutOff(_ slotIndex: Int, _ kind: StreamEndings.Kind, endings: inout StreamEndings) {
        let status = Int(streams[slotIndex].status)
        guard status == 0 else { return end(slotIndex, status: status, endings: &endings) }
        endings.others.append(.init(ticket: close(slotIndex).ticket, kind: kind))
    }

    /// The response is complete. If the request's body is not, resets the stream, because the peer does not want the
    /// rest.
    private mutating func finish(
        _ slotIndex: Int, status: Int, into out: inout ByteBuffer, endings: inout StreamEndings
    ) {
        let streamID = streams[slotIndex].id
        if !pendingBodies.isEmpty, pendingBodies.contains(where: { $0.streamID == streamID }) {
            out.writeNumberFrame(HTTP2Frame.Kind.reset, streamID: streamID, HTTP2Code.noError.rawValue)
        }
        quietFrames = 0
        end(slotIndex, status: status, endings: &endings)
    }

    private mutating func end(_ slotIndex: Int, status: Int, endings: inout StreamEndings) {
        let draft = drafts.isEmpty ? nil : drafts[streams[slotIndex].id]
        guard status != 200 || draft?.remark != nil else {
            endings.accepted.append(close(slotIndex).ticket)
            return
        }
        let streamID = streams[slotIndex].id
        let response = draft ?? ProviderResponse(status: status)
        endings.others.append(.init(ticket: close(slotIndex).ticket, kind: .response(response), streamID: streamID))
    }
}

/// Recognizes the response that nearly every request gets, without decoding it.
enum HeaderSkim {
    /// Whether a block holds `:status 200` and then only fields that neither read nor change the dynamic table:
    /// literals without indexing, with a literal name or one from the static table. Their values need no decoding. If
    /// false, the decoder must judge.
    static func isPlainSuccess(_ block: ByteBuffer) -> Bool {
        block.withUnsafeReadableBytes { bytes in
            // The static table's entry 8 is `:status 200`.
            guard bytes.first == 0x88 else { return false }
            var offset = 1
            while offset < bytes.count {
                guard skipLiteral(bytes, &offset) else { return false }
            }
            return true
        }
    }

    private static func skipLiteral(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> Bool {
        // Patterns 0000 and 0001: literals without indexing and never indexed (RFC 7541 §6.2.2, §6.2.3).
        guard bytes[offset] < 0x20, let index = integer(bytes, &offset, prefixBits: 4),
            index <= HeaderField.Static.count
        else { return false }
        if index == 0 {
            // The decoder must refuse an empty name.
            let start = offset
            guard skipString(bytes, &offset), offset > start + 1 else { return false }
        }
        return skipString(bytes, &offset)
    }

    private static func skipString(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> Bool {
        guard offset < bytes.count, let length = integer(bytes, &offset, prefixBits: 7) else { return false }
        offset += length
        return offset <= bytes.count
    }

    /// An HPACK integer (RFC 7541 §5.1) of up to three bytes.
    private static func integer(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int, prefixBits: Int) -> Int? {
        let full = (1 << prefixBits) - 1
        var value = Int(bytes[offset]) & full
        offset += 1
        guard value == full else { return value }
        for shift in [0, 7] {
            guard offset < bytes.count else { return nil }
            let byte = Int(bytes[offset])
            offset += 1
            value += (byte & 127) << shift
            if byte & 128 == 0 { return value }
        }
        return nil
    }
}
