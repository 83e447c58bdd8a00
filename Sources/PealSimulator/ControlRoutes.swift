import Foundation

/// The control interface: reads and empties the inbox, sets faults and the states of channels, and passes
/// network-specific requests to the networks.
struct ControlRoutes: Responder {
    let parts: SimulatorParts
    private var shared: SharedParts { parts.shared }

    var bodyBytesMax: Int { SimulatorLimits.controlBodyBytesMax }

    func receive(_ request: PushRequest, memory: inout ConnectionMemory) -> ConnectionReply {
        guard request.bodyBytes <= bodyBytesMax else {
            return ConnectionReply(.failure(413, "body: more than \(bodyBytesMax) bytes"))
        }
        var answer = answer(ControlRequest(request))
        answer.body.append(UInt8(ascii: "\n"))
        return ConnectionReply(answer)
    }

    /// Answers `request`. An invalid field gets a 400 that names it, an unknown path a 404.
    func answer(_ request: ControlRequest) -> HTTPAnswer {
        do {
            return try route(request)
                ?? .failure(404, "no such path: \(request.method) /\(request.path.joined(separator: "/"))")
        } catch {
            return .failure(400, "\(error)")
        }
    }

    private func route(_ request: ControlRequest) throws -> HTTPAnswer? {
        if let answer = try commonRoute(request) { return answer }
        for network in parts.networks {
            if let answer = try network.control(request) { return answer }
        }
        return nil
    }

    private func commonRoute(_ request: ControlRequest) throws -> HTTPAnswer? {
        switch (request.method, request.path) {
        case ("GET", ["healthz"]):
            .json(200, JSONText.object([("ok", "true"), ("mode", JSONText.quoted(shared.mode.rawValue))]))
        case ("GET", ["inbox"]): try readInbox(request)
        case ("GET", ["inbox", "summary"]): .json(200, shared.inbox.summaryJSON())
        case ("DELETE", ["inbox"]): done { shared.inbox.clear() }
        case ("DELETE", ["faults"]): done { shared.faults.clear() }
        case ("POST", ["script"]): try loadScript(request)
        case ("DELETE", ["access-tokens"]): try revokeAccessTokens(request)
        case (_, ["channels"]): try changeChannel(request)
        case (_, let path) where path.count == 3 && path[0] == "faults" && path[1] == "devices":
            try changeFault(request, device: try device(path[2]))
        default: nil
        }
    }

    private func done(_ body: () throws -> Void) rethrows -> HTTPAnswer {
        try body()
        return .done
    }

    /// The name of a device on any network: a token, a channel URI or an endpoint.
    private func device(_ text: String) throws -> String {
        guard (1...SimulatorLimits.deviceNameBytesMax).contains(text.utf8.count) else {
            throw SimulatorError("device: must have 1 to \(SimulatorLimits.deviceNameBytesMax) bytes")
        }
        return DeviceName.key(text)
    }

    private func readInbox(_ request: ControlRequest) throws -> HTTPAnswer {
        let limit = try request.integer(
            "limit", in: 1...SimulatorLimits.inboxPageItemsMax, standard: SimulatorLimits.inboxPageItemsDefault)
        let after = try request.integer("after", in: 0...Int.max - 1, standard: 0)
        var filter = InboxFilter()
        filter.device = request.query["device"].map(DeviceName.key)
        filter.provider = try request.choice("provider", PushProvider.self)
        filter.environment = try request.choice("environment", PushEnvironment.self)
        if request.query["since"] != nil {
            filter.sinceMilliseconds = Int64(try request.integer("since", in: 0...Int.max, standard: 0))
        }
        filter.contained = request.query["contains"]
        return .json(200, shared.inbox.itemsJSON(filter, after: after, limit: limit))
    }

    private func loadScript(_ request: ControlRequest) throws -> HTTPAnswer {
        let script = try FaultScript(yaml: String(decoding: request.body, as: UTF8.self))
        return done { shared.faults.load(script) }
    }

    private func changeFault(_ request: ControlRequest, device: String) throws -> HTTPAnswer? {
        switch request.method {
        case "PUT":
            let reader = MemberReader(try request.object(), path: "")
            try reader.allowOnly(FaultSequence.members.union(["times"]))
            let times = try reader.integer("times", in: 1...Int64.max)
            try shared.faults.set(try FaultSequence(reader.members, path: ""), device: device, times: times)
            return .done
        case "DELETE": return .found(shared.faults.remove(device: device))
        default: return nil
        }
    }

    /// `DELETE /access-tokens?provider=`: has the same effect as if Google or Microsoft had revoked them.
    private func revokeAccessTokens(_ request: ControlRequest) throws -> HTTPAnswer {
        let provider = try request.choice("provider", PushProvider.self)
        return done { shared.accessTokens.revoke(provider) }
    }

    /// `PUT /channels?uri=` `{"state": …}` and `DELETE /channels?uri=`, for the networks whose devices are channels.
    private func changeChannel(_ request: ControlRequest) throws -> HTTPAnswer? {
        guard ["PUT", "DELETE"].contains(request.method) else { return nil }
        let uri = request.query["uri"] ?? ""
        guard (1...SimulatorLimits.deviceNameBytesMax).contains(uri.utf8.count) else {
            throw SimulatorError("uri: must have 1 to \(SimulatorLimits.deviceNameBytesMax) bytes")
        }
        if request.method == "DELETE" { return .found(shared.channelStates.remove(uri)) }
        let reader = MemberReader(try request.object(), path: "")
        try reader.allowOnly(["state"])
        guard let state = try reader.choice("state", ChannelState.self) else { throw SimulatorError("state: missing") }
        return try done { try shared.channelStates.set(state, for: uri) }
    }
}

/// One request to the control interface.
struct ControlRequest {
    let method: String
    /// The parts of the path, percent-decoded, without empty ones.
    let path: [String]
    let query: [String: String]
    let body: [UInt8]

    /// Parses `request`.
    init(_ request: PushRequest) {
        method = request.method
        body = request.body
        let halves = request.path.split(separator: "?", maxSplits: 1)
        path = (halves.first ?? "").split(separator: "/").map { $0.removingPercentEncoding ?? String($0) }
        var query: [String: String] = [:]
        for pair in halves.dropFirst().first?.split(separator: "&") ?? [] {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            query[String(parts[0])] = parts.count > 1 ? parts[1].removingPercentEncoding ?? String(parts[1]) : ""
        }
        self.query = query
    }

    /// The body as a JSON object.
    func object() throws -> [String: Any] {
        guard let object = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] else {
            throw SimulatorError("body: not a JSON object")
        }
        return object
    }

    /// The value `name` of an enumeration in the query, or nil when there is none.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, _ type: Choice.Type
    ) throws -> Choice? where Choice.RawValue == String {
        try MemberReader(query, path: "").choice(name, type)
    }

    /// The whole number `name` of the query within `range`, or `standard` when there is none.
    func integer(_ name: String, in range: ClosedRange<Int>, standard: Int) throws -> Int {
        guard let text = query[name] else { return standard }
        guard let number = Int(text), range.contains(number) else {
            throw SimulatorError("\(name): not a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
