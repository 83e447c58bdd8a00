import NIOCore
import PealCore

/// Incoming frames, in the order of their arrival.
extension HTTP2ConnectionState {
    /// Parses the complete frames at the front of `input` and leaves the rest.
    /// - Parameters:
    ///   - out: receives acknowledgements and window updates.
    ///   - endings: receives the requests that ended, even if this throws.
    mutating func receive(
        _ input: inout ByteBuffer, into out: inout ByteBuffer, endings: inout StreamEndings
    ) throws(HTTP2Fault) {
        while let header = HTTP2Frame.Header(peeking: input) {
            guard header.payloadBytes <= HTTP2Frame.payloadBytesMin else {
                throw HTTP2Fault(.frameSizeError, "frame too large")
            }
            let payloadIndex = input.readerIndex + HTTP2Frame.headerBytes
            guard let payload = input.getSlice(at: payloadIndex, length: header.payloadBytes) else { break }
            input.moveReaderIndex(forwardBy: HTTP2Frame.headerBytes + header.payloadBytes)
            try take(header, payload, into: &out, endings: &endings)
        }
        if receivedBytes >= 256 * 1024 { topUpWindow(into: &out) }
        if !pendingBodies.isEmpty { sendPendingBodies(into: &out) }
    }

    private mutating func take(
        _ header: HTTP2Frame.Header, _ payload: ByteBuffer, into out: inout ByteBuffer, endings: inout StreamEndings
    ) throws(HTTP2Fault) {
        if let block = headerBlock,
            header.kind != HTTP2Frame.Kind.continuation || header.streamID != block.streamID
        {
            throw HTTP2Fault(.protocolError, "header block interrupted by another frame")
        }
        if !isSettled && (header.kind != HTTP2Frame.Kind.settings || header.has(HTTP2Frame.Flag.acknowledgement)) {
            throw HTTP2Fault(.protocolError, "first frame is not SETTINGS")
        }
        quietFrames += 1
        guard quietFrames <= Limits.quietFramesMax else {
            throw HTTP2Fault(.enhanceYourCalm, "too many frames without a response")
        }
        switch header.kind {
        case HTTP2Frame.Kind.headers: try takeHeaders(header, payload, into: &out, endings: &endings)
        case HTTP2Frame.Kind.data: try takeData(header, payload, into: &out, endings: &endings)
        case HTTP2Frame.Kind.continuation: try takeContinuation(header, payload, into: &out, endings: &endings)
        case HTTP2Frame.Kind.reset: try takeReset(header, payload, endings: &endings)
        case HTTP2Frame.Kind.settings: try takeSettings(header, payload, into: &out)
        case HTTP2Frame.Kind.windowUpdate: try takeWindowUpdate(header, payload, into: &out, endings: &endings)
        case HTTP2Frame.Kind.ping: try takePing(header, payload, into: &out)
        case HTTP2Frame.Kind.goAway: try takeGoAway(header, payload, endings: &endings)
        case HTTP2Frame.Kind.priority: try takePriority(header)
        case HTTP2Frame.Kind.pushPromise: throw HTTP2Fault(.protocolError, "PUSH_PROMISE although push is disabled")
        default: break
        }
    }

    /// Throws unless this client began the stream; it may have ended since.
    func requireBegun(_ streamID: UInt32) throws(HTTP2Fault) {
        guard streamID & 1 == 1, streamID < nextStreamID else {
            throw HTTP2Fault(.protocolError, "frame on a stream that was not opened")
        }
    }

    /// Removes the padding (RFC 9113 §6.1).
    func unpadded(_ header: HTTP2Frame.Header, _ payload: ByteBuffer) throws(HTTP2Fault) -> ByteBuffer {
        guard header.has(HTTP2Frame.Flag.padded) else { return payload }
        var payload = payload
        guard let padding = payload.readInteger(as: UInt8.self) else {
            throw HTTP2Fault(.frameSizeError, "padded frame without its length")
        }
        guard let content = payload.readSlice(length: payload.readableBytes - Int(padding)) else {
            throw HTTP2Fault(.protocolError, "more padding than payload")
        }
        return content
    }

    private mutating func topUpWindow(into out: inout ByteBuffer) {
        out.writeNumberFrame(HTTP2Frame.Kind.windowUpdate, streamID: 0, UInt32(receivedBytes))
        receiveWindow += receivedBytes
        receivedBytes = 0
    }

    /// Resets a stream that the peer misused. The other streams continue.
    mutating func resetStream(
        _ slotIndex: Int, _ code: HTTP2Code, reason: String, into out: inout ByteBuffer, endings: inout StreamEndings
    ) {
        out.writeNumberFrame(HTTP2Frame.Kind.reset, streamID: streams[slotIndex].id, code.rawValue)
        cutOff(slotIndex, .lost(reason), endings: &endings)
    }
}

/// SETTINGS, WINDOW_UPDATE, PING, GOAWAY and PRIORITY: frames about the connection itself.
extension HTTP2ConnectionState {
    mutating func takeSettings(
        _ header: HTTP2Frame.Header, _ payload: ByteBuffer, into out: inout ByteBuffer
    ) throws(HTTP2Fault) {
        guard header.streamID == 0 else { throw HTTP2Fault(.protocolError, "SETTINGS on a stream") }
        if header.has(HTTP2Frame.Flag.acknowledgement) {
            guard payload.readableBytes == 0 else {
                throw HTTP2Fault(.frameSizeError, "SETTINGS acknowledgement with a payload")
            }
            return
        }
        guard payload.readableBytes.isMultiple(of: 6) else { throw HTTP2Fault(.frameSizeError, "SETTINGS truncated") }
        var payload = payload
        let windowBefore = peer.initialWindow
        while let (name, value) = payload.readMultipleIntegers(as: (UInt16, UInt32).self) {
            try peer.apply(name, value)
            if name == PeerSettings.Name.headerTableBytes { encoder.setTableBytes(peer.headerTableBytes) }
        }
        let change = peer.initialWindow - windowBefore
        guard change == 0 || streams.shiftWindows(by: change) else {
            throw HTTP2Fault(.flowControlError, "initial window size overflows a stream's window")
        }
        isSettled = true
        out.writeFrameHeader(
            .init(payloadBytes: 0, kind: HTTP2Frame.Kind.settings, flags: HTTP2Frame.Flag.acknowledgement))
    }

    mutating func takeWindowUpdate(
        _ header: HTTP2Frame.Header, _ payload: ByteBuffer, into out: inout ByteBuffer, endings: inout StreamEndings
    ) throws(HTTP2Fault) {
        guard payload.readableBytes == 4, let number = payload.getInteger(at: payload.readerIndex, as: UInt32.self)
        else { throw HTTP2Fault(.frameSizeError, "WINDOW_UPDATE of invalid size") }
        let increment = Int(number & 0x7FFF_FFFF)
        if header.streamID == 0 {
            guard increment > 0 else { throw HTTP2Fault(.protocolError, "WINDOW_UPDATE of 0") }
            sendWindow += increment
            guard sendWindow <= HTTP2Frame.windowMax else {
                throw HTTP2Fault(.flowControlError, "connection window overflow")
            }
            return
        }
        try requireBegun(header.streamID)
        guard let slotIndex = streams.find(header.streamID) else { return }
        streams[slotIndex].window += increment
        if increment == 0 {
            resetStream(slotIndex, .protocolError, reason: "BadResponse", into: &out, endings: &endings)
        } else if streams[slotIndex].window > HTTP2Frame.windowMax {
            resetStream(slotIndex, .flowControlError, reason: "BadResponse", into: &out, endings: &endings)
        }
    }

    mutating func takePing(
        _ header: HTTP2Frame.Header, _ payload: ByteBuffer, into out: inout ByteBuffer
    ) throws(HTTP2Fault) {
        guard header.streamID == 0 else { throw HTTP2Fault(.protocolError, "PING on a stream") }
        guard payload.readableBytes == 8 else { throw HTTP2Fault(.frameSizeError, "PING of invalid size") }
        if header.has(HTTP2Frame.Flag.acknowledgement) {
            pongCount += 1
        } else {
            out.writeFrameHeader(
                .init(payloadBytes: 8, kind: HTTP2Frame.Kind.ping, flags: HTTP2Frame.Flag.acknowledgement))
            out.writeImmutableBuffer(payload)
        }
    }

    mutating func takeGoAway(
        _ header: HTTP2Frame.Header, _ payload: ByteBuffer, endings: inout StreamEndings
    ) throws(HTTP2Fault) {
        guard header.streamID == 0 else { throw HTTP2Fault(.protocolError, "GOAWAY on a stream") }
        var payload = payload
        guard let (last, code) = payload.readMultipleIntegers(as: (UInt32, UInt32).self) else {
            throw HTTP2Fault(.frameSizeError, "GOAWAY truncated")
        }
        // A later GOAWAY may only lower the id (RFC 9113 §6.8).
        let lastStreamID = min(last & HTTP2Frame.streamIDMax, goAway?.lastStreamID ?? HTTP2Frame.streamIDMax)
        goAway = GoAway(
            lastStreamID: lastStreamID, code: code,
            reason: Self.reason(in: payload.readableBytesView) ?? goAway?.reason)
        for slotIndex in streams.slotIndices(where: { $0 > lastStreamID }) {
            cutOff(slotIndex, .unprocessed, endings: &endings)
        }
    }

    /// The member `reason` of JSON debug data, such as Apple's; nil if it cannot be shown.
    private static func reason(in debugData: ByteBufferView) -> String? {
        (try? JSONParser.parse(Array(debugData.prefix(1024))))?["reason"]?.stringValue?.asReason()
    }

    func takePriority(_ header: HTTP2Frame.Header) throws(HTTP2Fault) {
        guard header.streamID != 0 else { throw HTTP2Fault(.protocolError, "PRIORITY on stream 0") }
        guard header.payloadBytes == 5 else { throw HTTP2Fault(.frameSizeError, "PRIORITY of invalid size") }
    }
}
