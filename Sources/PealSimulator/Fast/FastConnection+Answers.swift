import Foundation

/// How a fast connection ends its requests.
extension FastConnection {
    /// Ends the request at `place`, whose body is `body`: counts and answers it, unless a fault meets it.
    func finish(
        _ place: Int, _ body: UnsafeRawBufferPointer, _ ledger: inout Ledger, _ recent: inout RecentRing
    ) {
        let stream = streams.streams[place]
        let texts = UnsafeRawBufferPointer(texts(place))
        let named = UnsafeRawBufferPointer(rebasing: texts[0..<stream.deviceBytes])
        let id = UnsafeRawBufferPointer(
            rebasing: texts[FastStreams.deviceRoom..<(FastStreams.deviceRoom + stream.idBytes)])
        streams.close(place)
        guard desk.provider == .fcm else {
            return end(stream.id, device: named, stream.device, id: id, body, &ledger, &recent)
        }
        if named.count == FastFCM.authorizationRoute.count, named.elementsEqual(FastFCM.authorizationRoute) {
            writer.successOfFCM(stream: stream.id)
            return windows.send(FastFCM.authorization, on: stream.id, &writer)
        }
        let found = FastFCM.device(body)
        let device = found.isEmpty ? named : found
        end(
            stream.id, device: device, Fingerprint.of(device, isFoldingCase: false), id: id, body, &ledger, &recent)
    }

    private func end(
        _ stream: UInt32, device: UnsafeRawBufferPointer, _ fingerprint: UInt64, id: UnsafeRawBufferPointer,
        _ body: UnsafeRawBufferPointer, _ ledger: inout Ledger, _ recent: inout RecentRing
    ) {
        let fault = desk.faults.isActive ? self.fault(of: device) : nil
        if let fault, !fault.isDelivering {
            settle(fault, &ledger)
        } else {
            ledger.accept(device: fingerprint, id: Fingerprint.of(id), provider: desk.provider, isExact: false)
            recent.keep(
                at: now, provider: desk.provider, environment: desk.environment, device: device, id: id,
                payload: body)
        }
        if let fault {
            meet(fault, stream, id)
        } else {
            succeed(stream, id)
        }
    }

    private func fault(of device: UnsafeRawBufferPointer) -> Fault? {
        desk.faults.decide(
            device: String(decoding: device, as: UTF8.self), provider: desk.provider, environment: desk.environment)
    }

    private func settle(_ fault: Fault, _ ledger: inout Ledger) {
        switch fault.action {
        case .answer(let answer): ledger.refuse(answer.name, provider: desk.provider)
        case .expireToken: ledger.refuse(expired.reason, provider: desk.provider)
        default: ledger.disturb(fault.action.disturbance ?? "other", provider: desk.provider)
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
        case .pass: succeed(stream, id)
        case .answer(let answer): say(answer, stream, id)
        case .expireToken: say(expired, stream, id)
        case .reset(let code): writer.reset(stream, code: UInt32(truncatingIfNeeded: code))
        case .refuse: writer.reset(stream, code: 7)
        case .goAway(let reason): leave(reason: reason, code: 0, lastStream: stream >= 2 ? stream - 2 : 0)
        case .close:
            isEnding = true
            isAborted = true
        case .streamLimit(let limit):
            writer.settings([(3, UInt32(truncatingIfNeeded: limit))])
            succeed(stream, id)
        case .clockSkew(let seconds):
            desk.faults.skew.set(seconds: seconds)
            succeed(stream, id)
        case .silence: break
        }
    }

    private func succeed(_ stream: UInt32, _ id: UnsafeRawBufferPointer) {
        if desk.provider == .fcm {
            writer.successOfFCM(stream: stream)
            windows.send(FastFCM.success, on: stream, &writer)
        } else {
            writer.answer(200, apnsID: id, stream: stream, isLast: true)
        }
    }

    private var expired: FaultAnswer { desk.provider == .fcm ? FCMError.expired : APNsNetwork.expired }

    /// Gives the answer of a fault.
    private func say(_ fault: FaultAnswer, _ stream: UInt32, _ id: UnsafeRawBufferPointer) {
        if fault.isBareSuccess, fault.headers.isEmpty { return succeed(stream, id) }
        var answer =
            if desk.provider == .fcm {
                FCMError.answer(fault)
            } else {
                Answer.json(fault.status, APNsReason.json(fault.reason, fault.timestamp))
            }
        if desk.provider == .apns { answer.headers = [("apns-id", String(decoding: id, as: UTF8.self))] }
        answer.set(fault.headers)
        if let body = fault.body { answer.body = Array(body.utf8) }
        if fault.isBareSuccess { answer.body = desk.provider == .fcm ? FastFCM.success : [] }
        writer.headers(answer.status, answer.headers, stream: stream, isLast: answer.body.isEmpty)
        if !answer.body.isEmpty { windows.send(answer.body, on: stream, &writer) }
    }

    /// Ends a request whose body is too long for anything.
    func refuseBody(_ place: Int, _ ledger: inout Ledger) {
        let stream = streams.streams[place]
        let room = UnsafeRawBufferPointer(texts(place))
        let id = UnsafeRawBufferPointer(
            rebasing: room[FastStreams.deviceRoom..<(FastStreams.deviceRoom + stream.idBytes)])
        let refusal = FaultAnswer(
            status: desk.provider == .fcm ? 400 : 413,
            reason: desk.provider == .fcm
                ? FCMErrorCode.invalidArgument.rawValue : APNsReason.payloadTooLarge.rawValue)
        ledger.refuse(refusal.reason, provider: desk.provider)
        say(refusal, stream.id, id)
        streams.close(place)
    }
}

/// What a fast connection knows of FCM: whom a body is for, and what is answered.
enum FastFCM {
    /// The body of every success.
    static let success = Array(#"{"name":"projects/x/messages/0"}"#.utf8)
    /// The body of a request for an access token.
    static let authorization = Array(#"{"access_token":"fast","expires_in":3599,"token_type":"Bearer"}"#.utf8)
    static let authorizationRoute = Array("/token".utf8)
    private static let keys = [Array(#""token""#.utf8), Array(#""fid""#.utf8), Array(#""topic""#.utf8)]

    /// The first string that is called `token` in `body`, else `fid` or `topic`: no JSON is read for it. Empty when
    /// there is none.
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

    /// Where `key`, which begins with a quotation mark, is in `body`.
    private static func find(_ key: [UInt8], in body: UnsafeRawBufferPointer) -> Int? {
        guard let start = body.baseAddress else { return nil }
        var position = 0
        while body.count - position >= key.count,
            let mark = memchr(start + position, Int32(UInt8(ascii: "\"")), body.count - position)
        {
            let place = start.distance(to: UnsafeRawPointer(mark))
            guard body.count - place >= key.count else { return nil }
            if memcmp(start + place, key, key.count) == 0 { return place }
            position = place + 1
        }
        return nil
    }
}
