import NIOCore
import PealCore

/// Outgoing requests.
extension HTTP2ConnectionState {
    /// How many requests may begin under the peer's current limits.
    var streamRoom: Int {
        guard isSettled, takesRequests else { return 0 }
        return max(0, min(peer.streamsMax, Limits.streamsPerConnectionMax) - openCount)
    }

    /// How many more bodies may begin that exceed their stream's flow-control window.
    var partialBodyRoom: Int { 16 - pendingBodies.count }

    /// Writes one request. The caller has checked `streamRoom` and the flow-control windows.
    /// - Parameters:
    ///   - template: current, or newly made and used only once.
    ///   - id: ignored if the template carries none.
    mutating func begin(
        _ template: RequestTemplate, address: UnsafeRawBufferPointer, id: (high: UInt64, low: UInt64),
        ticket: StreamTicket, into out: inout ByteBuffer
    ) {
        while !streams.isFree(nextStreamID) { nextStreamID += 2 }
        let streamID = nextStreamID
        nextStreamID += 2
        quietFrames = 0
        let bodyBytes = template.bodyBytes(address: address.count)
        streams.open(streamID, ticket: ticket, window: peer.initialWindow)
        let blockBytes = template.blockBytesMax(address: address.count)
        let fits =
            bodyBytes <= sendWindow && bodyBytes <= peer.initialWindow && blockBytes <= peer.frameBytesMax
            && bodyBytes <= peer.frameBytesMax && pendingBodies.isEmpty && bodyBytes > 0
        guard fits else {
            return beginByParts(template, address: address, id: id, streamID: streamID, into: &out)
        }
        sendWindow -= bodyBytes
        if let slotIndex = streams.find(streamID) { streams[slotIndex].window -= bodyBytes }
        out.writeWithUnsafeMutableBytes(
            minimumWritableBytes: 2 * HTTP2Frame.headerBytes + blockBytes + bodyBytes
        ) { room in
            guard let start = room.baseAddress else { return 0 }
            var block = RequestWriter(start + HTTP2Frame.headerBytes)
            Self.writeBlock(template, address: address, id: id, with: &block)
            var frame = RequestWriter(start)
            frame.writeFrameHeader(
                block.count, kind: HTTP2Frame.Kind.headers, flags: HTTP2Frame.Flag.endHeaders, streamID: streamID)
            var body = RequestWriter(start + HTTP2Frame.headerBytes + block.count)
            body.writeFrameHeader(
                bodyBytes, kind: HTTP2Frame.Kind.data, flags: HTTP2Frame.Flag.endStream, streamID: streamID)
            body.write(template.body, address: address)
            return HTTP2Frame.headerBytes + block.count + body.count
        }
    }

    @inline(__always)
    private static func writeBlock(
        _ template: RequestTemplate, address: UnsafeRawBufferPointer, id: (high: UInt64, low: UInt64),
        with writer: inout RequestWriter
    ) {
        writer.write(template.head)
        writer.writeStringLength(template.path.byteCount(address: address.count))
        writer.write(template.path, address: address)
        writer.write(template.tail)
        if template.endsInID { writer.write(high: id.high, low: id.low) }
        if !template.addressField.isEmpty {
            writer.write(template.addressField)
            writer.writeStringLength(address.count)
            writer.write(address)
        }
    }

    /// The general case: splits header blocks at the peer's frame size and bodies at its flow-control windows.
    private mutating func beginByParts(
        _ template: RequestTemplate, address: UnsafeRawBufferPointer, id: (high: UInt64, low: UInt64),
        streamID: UInt32, into out: inout ByteBuffer
    ) {
        let blockBytesMax = template.blockBytesMax(address: address.count)
        let block = [UInt8](unsafeUninitializedCapacity: blockBytesMax) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            var writer = RequestWriter(start)
            Self.writeBlock(template, address: address, id: id, with: &writer)
            count = writer.count
        }
        let bodyBytes = template.bodyBytes(address: address.count)
        let body = [UInt8](unsafeUninitializedCapacity: bodyBytes) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            var writer = RequestWriter(start)
            writer.write(template.body, address: address)
            count = writer.count
        }
        writeHeaders(block[...], streamID: streamID, endsStream: body.isEmpty, into: &out)
        guard !body.isEmpty else { return }
        pendingBodies.append(PendingBody(streamID: streamID, bytes: body, sent: 0))
        sendPendingBodies(into: &out)
    }

    private func writeHeaders(
        _ block: ArraySlice<UInt8>, streamID: UInt32, endsStream: Bool, into out: inout ByteBuffer
    ) {
        var rest = block
        var kind = HTTP2Frame.Kind.headers
        repeat {
            let part = rest.prefix(peer.frameBytesMax)
            rest = rest.dropFirst(part.count)
            var flags = rest.isEmpty ? HTTP2Frame.Flag.endHeaders : 0
            if endsStream && kind == HTTP2Frame.Kind.headers { flags |= HTTP2Frame.Flag.endStream }
            out.writeFrameHeader(.init(payloadBytes: part.count, kind: kind, flags: flags, streamID: streamID))
            out.writeBytes(part)
            kind = HTTP2Frame.Kind.continuation
        } while !rest.isEmpty
    }

    /// Sends as much of the pending bodies as the flow-control windows allow.
    mutating func sendPendingBodies(into out: inout ByteBuffer) {
        var position = 0
        while position < pendingBodies.count, sendWindow > 0 {
            guard let slotIndex = streams.find(pendingBodies[position].streamID) else {
                pendingBodies.remove(at: position)
                continue
            }
            let isDone = sendPart(of: position, slotIndex: slotIndex, into: &out)
            if isDone { pendingBodies.remove(at: position) } else { position += 1 }
        }
    }

    /// Returns whether the whole body has been sent.
    private mutating func sendPart(of position: Int, slotIndex: Int, into out: inout ByteBuffer) -> Bool {
        while true {
            let pending = pendingBodies[position]
            let rest = pending.bytes.count - pending.sent
            let count = min(rest, sendWindow, streams[slotIndex].window, peer.frameBytesMax)
            guard count > 0 else { return rest == 0 }
            let isLast = count == rest
            out.writeFrameHeader(
                .init(
                    payloadBytes: count, kind: HTTP2Frame.Kind.data,
                    flags: isLast ? HTTP2Frame.Flag.endStream : 0, streamID: pending.streamID))
            out.writeBytes(pending.bytes[pending.sent..<pending.sent + count])
            sendWindow -= count
            streams[slotIndex].window -= count
            pendingBodies[position].sent += count
            // However small the windows are, each part brings the body closer to its end.
            quietFrames = 0
            if isLast { return true }
        }
    }
}
