import Foundation

/// How a fast connection ends its requests.
extension FastConnection {
    /// Ends the request in `slot`, whose body is `body`: counts and answers it, unless a fault applies.
    func finish(
        _ slot: Int, _ body: UnsafeRawBufferPointer, _ ledger: inout Ledger, _ recent: inout RecentRing
    ) {
        let stream = streams.streams[slot]
        let texts = UnsafeRawBufferPointer(texts(slot))
        let named = UnsafeRawBufferPointer(rebasing: texts[0..<stream.deviceBytes])
        let id = UnsafeRawBufferPointer(
            rebasing: texts[FastStreams.deviceRoom..<(FastStreams.deviceRoom + stream.idBytes)])
        streams.close(slot)
        if let accessToken = listener.service.accessToken(path: named) {
            listener.service.writeSuccess(id: id, stream: stream.id, &writer)
            return windows.send(accessToken, on: stream.id, &writer)
        }
        let (device, fingerprint) = listener.service.device(path: named, stream.device, body)
        end(stream.id, device: device, fingerprint, id: id, body, &ledger, &recent)
    }

    private func end(
        _ stream: UInt32, device: UnsafeRawBufferPointer, _ fingerprint: UInt64, id: UnsafeRawBufferPointer,
        _ body: UnsafeRawBufferPointer, _ ledger: inout Ledger, _ recent: inout RecentRing
    ) {
        let fault = listener.faults.isActive ? self.fault(of: device) : nil
        if let fault, !fault.isDelivering {
            settle(fault, &ledger)
        } else {
            ledger.accept(device: fingerprint, id: Fingerprint.of(id), provider: listener.provider, isExact: false)
            recent.keep(
                at: now, provider: listener.provider, environment: listener.environment, device: device, id: id,
                payload: body)
        }
        if let fault {
            apply(fault, stream, id)
        } else {
            succeed(stream, id)
        }
    }

    private func fault(of device: UnsafeRawBufferPointer) -> Fault? {
        listener.faults.decide(
            device: String(decoding: device, as: UTF8.self), provider: listener.provider,
            environment: listener.environment)
    }

    private func settle(_ fault: Fault, _ ledger: inout Ledger) {
        switch fault.action {
        case .answer(let answer): ledger.refuse(answer.name, provider: listener.provider)
        case .expireToken: ledger.refuse(expired.reason, provider: listener.provider)
        case .pass, .reset, .refuse, .goAway, .close, .streamLimit, .silence, .clockSkew:
            ledger.disturb(fault.action.disturbance ?? "other", provider: listener.provider)
        }
    }

    private func apply(_ fault: Fault, _ stream: UInt32, _ id: UnsafeRawBufferPointer) {
        if fault.delayMilliseconds > 0 {
            delayed.append(Delayed(stream: stream, fault: fault, apnsID: Array(id)))
        } else {
            carryOut(fault.action, stream, id)
        }
    }

    /// Carries out a fault now.
    func carryOut(_ action: FaultAction, _ stream: UInt32, _ id: UnsafeRawBufferPointer) {
        switch action {
        case .pass: succeed(stream, id)
        case .answer(let answer): send(answer, stream, id)
        case .expireToken: send(expired, stream, id)
        case .reset(let code): writer.reset(stream, code: UInt32(truncatingIfNeeded: code))
        case .refuse: writer.reset(stream, code: 7)
        case .goAway(let reason): sendGoAway(reason: reason, code: 0, lastStream: stream >= 2 ? stream - 2 : 0)
        case .close:
            isEnding = true
            isAborted = true
        case .streamLimit(let limit):
            writer.settings([(3, UInt32(truncatingIfNeeded: limit))])
            succeed(stream, id)
        case .clockSkew(let seconds):
            listener.faults.skew.set(seconds: seconds)
            succeed(stream, id)
        case .silence: break
        }
    }

    private func succeed(_ stream: UInt32, _ id: UnsafeRawBufferPointer) {
        listener.service.writeSuccess(id: id, stream: stream, &writer)
        let body = listener.service.successBody
        if !body.isEmpty { windows.send(body, on: stream, &writer) }
    }

    private var expired: FaultAnswer { listener.service.expired }

    /// Sends the answer of a fault.
    private func send(_ fault: FaultAnswer, _ stream: UInt32, _ id: UnsafeRawBufferPointer) {
        if fault.isBareSuccess, fault.headers.isEmpty { return succeed(stream, id) }
        var answer = listener.service.answer(fault, id: id)
        answer.set(fault.headers)
        if let body = fault.body { answer.body = Array(body.utf8) }
        if fault.isBareSuccess { answer.body = listener.service.successBody }
        writer.headers(answer.status, answer.headers, stream: stream, isLast: answer.body.isEmpty)
        if !answer.body.isEmpty { windows.send(answer.body, on: stream, &writer) }
    }

    /// Refuses a request whose body is over the limit.
    func refuseBody(_ slot: Int, _ ledger: inout Ledger) {
        let stream = streams.streams[slot]
        let room = UnsafeRawBufferPointer(texts(slot))
        let id = UnsafeRawBufferPointer(
            rebasing: room[FastStreams.deviceRoom..<(FastStreams.deviceRoom + stream.idBytes)])
        let refusal = listener.service.tooLarge
        ledger.refuse(refusal.reason, provider: listener.provider)
        send(refusal, stream.id, id)
        streams.close(slot)
    }
}
