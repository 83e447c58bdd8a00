/// How a fast connection ends its requests.
extension FastConnection {
    /// Ends the request at `place`, whose body is `body`: counts and answers it, unless a fault meets it.
    func finish(
        _ place: Int, _ body: UnsafeRawBufferPointer, _ ledger: inout Ledger, _ recent: inout RecentRing
    ) {
        let stream = streams.streams[place]
        let texts = UnsafeRawBufferPointer(texts(place))
        let device = UnsafeRawBufferPointer(rebasing: texts[0..<stream.deviceBytes])
        let id = UnsafeRawBufferPointer(
            rebasing: texts[FastStreams.deviceRoom..<(FastStreams.deviceRoom + stream.idBytes)])
        streams.close(place)
        let fault = desk.faults.isActive ? self.fault(of: device) : nil
        if let fault, !fault.isDelivering {
            settle(fault, &ledger)
        } else {
            ledger.accept(device: stream.device, apnsID: Fingerprint.of(id), isExact: false)
            recent.keep(
                at: now, environment: desk.environment, device: device, apnsID: id, payload: body)
        }
        if let fault {
            meet(fault, stream.id, id)
        } else {
            writer.answer(200, apnsID: id, stream: stream.id, isLast: true)
        }
    }

    private func fault(of device: UnsafeRawBufferPointer) -> Fault? {
        desk.faults.decide(
            device: String(decoding: device, as: UTF8.self).lowercased(), environment: desk.environment)
    }

    private func settle(_ fault: Fault, _ ledger: inout Ledger) {
        if case .answer(_, let reason, _) = fault.action {
            ledger.refuse(reason)
        } else {
            ledger.disturb(fault.action.disturbance ?? "other")
        }
    }

    private func meet(_ fault: Fault, _ stream: UInt32, _ id: UnsafeRawBufferPointer) {
        if fault.delayMilliseconds > 0 {
            delayed.append(Delayed(stream: stream, fault: fault, apnsID: Array(id)))
        } else {
            carryOut(fault.action, stream, id)
        }
    }

    /// Does what a fault says, now.
    func carryOut(_ action: FaultAction, _ stream: UInt32, _ id: UnsafeRawBufferPointer) {
        switch action {
        case .pass: writer.answer(200, apnsID: id, stream: stream, isLast: true)
        case .answer(let status, let reason, let timestamp):
            let isShort = status == 200
            writer.answer(status, apnsID: id, stream: stream, isLast: isShort)
            if !isShort { windows.send(Array(APNsReply.body(reason, timestamp).utf8), on: stream, &writer) }
        case .reset(let code): writer.reset(stream, code: UInt32(truncatingIfNeeded: code))
        case .refuse: writer.reset(stream, code: 7)
        case .goAway(let reason): leave(reason: reason, code: 0, lastStream: stream >= 2 ? stream - 2 : 0)
        case .close:
            isEnding = true
            isAborted = true
        case .streamLimit(let limit):
            writer.settings([(3, UInt32(truncatingIfNeeded: limit))])
            writer.answer(200, apnsID: id, stream: stream, isLast: true)
        case .silence: break
        }
    }

    /// Ends a request whose body is too long for anything.
    func refuseBody(_ place: Int, _ ledger: inout Ledger) {
        let stream = streams.streams[place]
        let room = UnsafeRawBufferPointer(texts(place))
        let id = UnsafeRawBufferPointer(
            rebasing: room[FastStreams.deviceRoom..<(FastStreams.deviceRoom + stream.idBytes)])
        ledger.refuse(APNsReason.payloadTooLarge.rawValue)
        writer.answer(413, apnsID: id, stream: stream.id, isLast: false)
        windows.send(Array(APNsReply.body(APNsReason.payloadTooLarge.rawValue).utf8), on: stream.id, &writer)
        streams.close(place)
    }
}
