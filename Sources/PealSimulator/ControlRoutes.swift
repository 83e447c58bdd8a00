import Foundation

/// The control interface: reads and empties the inbox, puts faults, marks, states and keys, and makes subscriptions.
struct ControlRoutes: RequestDesk {
    let parts: SimulatorParts
    let mode: SimulatorMode

    var bodyBytesMax: Int { SimulatorLimits.controlBodyBytesMax }

    func receive(_ request: PushRequest, memory: inout ConnectionMemory) -> Reply {
        guard request.bodyBytes <= bodyBytesMax else {
            return Reply(.failure(413, "body: more than \(bodyBytesMax) bytes"))
        }
        var answer = answer(ControlRequest(request))
        answer.body.append(UInt8(ascii: "\n"))
        return Reply(answer)
    }

    /// Answers `request`. A wrong field is a 400 that names it, an unknown path a 404.
    func answer(_ request: ControlRequest) -> Answer {
        do {
            return try route(request)
                ?? .failure(404, "no such path: \(request.method) /\(request.path.joined(separator: "/"))")
        } catch {
            return .failure(400, "\(error)")
        }
    }

    private func route(_ request: ControlRequest) throws -> Answer? {
        switch (request.method, request.path) {
        case ("GET", ["healthz"]): .json(200, JSONText.object([("ok", "true"), ("mode", "\"\(mode.rawValue)\"")]))
        case ("GET", ["inbox"]): try readInbox(request)
        case ("GET", ["inbox", "summary"]): .json(200, parts.inbox.summaryJSON())
        case ("DELETE", ["inbox"]): done { parts.inbox.clear() }
        case ("DELETE", ["faults"]): done { parts.faults.clear() }
        case ("POST", ["script"]): try loadScript(request)
        case ("DELETE", ["access-tokens"]): try revokeAccessTokens(request)
        case (_, ["channels"]): try changeChannel(request)
        case (_, ["webpush", "subscriptions"]): try changeSubscription(request)
        case (_, let path) where path.count == 3 && path[0] == "faults" && path[1] == "devices":
            try changeFault(request, device: try anyDevice(path[2]))
        case (_, let path) where path.count == 2 && path[0] == "devices":
            try changeMark(request, device: try device(path[1]))
        case (_, let path) where path.count == 2 && path[0] == "keys": try changeKey(request, id: path[1])
        default: nil
        }
    }

    func done(_ body: () throws -> Void) rethrows -> Answer {
        try body()
        return .done
    }

    func found(_ isFound: Bool) -> Answer {
        isFound ? .done : .failure(404, "not found")
    }

    /// A device of any network: a token, a channel URI or an endpoint.
    private func anyDevice(_ text: String) throws -> String {
        guard (1...SimulatorLimits.deviceNameBytesMax).contains(text.utf8.count) else {
            throw SimulatorError("device: not of 1 to \(SimulatorLimits.deviceNameBytesMax) bytes")
        }
        return DeviceName.key(text)
    }

    private func device(_ text: String) throws -> String {
        guard SimulatorLimits.deviceTokenDigits.contains(text.utf8.count), text.utf8.allSatisfy(Hexadecimal.isDigit)
        else { throw SimulatorError("device: not a device token of hexadecimal digits") }
        return text.lowercased()
    }

    private func readInbox(_ request: ControlRequest) throws -> Answer {
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
        return .json(200, parts.inbox.itemsJSON(filter, after: after, limit: limit))
    }

    private func loadScript(_ request: ControlRequest) throws -> Answer {
        let script = try FaultScript(yaml: String(decoding: request.body, as: UTF8.self))
        return done { parts.faults.load(script) }
    }

    private func changeFault(_ request: ControlRequest, device: String) throws -> Answer? {
        switch request.method {
        case "PUT":
            let fields = Fields(try request.object(), path: "")
            try fields.allowOnly(FaultSequence.members.union(["times"]))
            let times = try fields.integer("times", in: 1...Int64.max)
            try parts.faults.set(try FaultSequence(fields.members, path: ""), device: device, times: times)
            return .done
        case "DELETE": return found(parts.faults.remove(device: device))
        default: return nil
        }
    }

    private func changeMark(_ request: ControlRequest, device: String) throws -> Answer? {
        switch request.method {
        case "PUT":
            let fields = Fields(try request.object(), path: "")
            try fields.allowOnly(["environment", "bundle_id"])
            let mark = DeviceMark(
                environment: try fields.choice("environment", PushEnvironment.self),
                bundleID: try fields.text("bundle_id"))
            try parts.marks.set(mark, device: device)
            return .done
        case "DELETE": return found(parts.marks.remove(device: device))
        default: return nil
        }
    }

    private func changeKey(_ request: ControlRequest, id: String) throws -> Answer? {
        switch request.method {
        case "PUT":
            let fields = Fields(try request.object(), path: "")
            try fields.allowOnly(["team_id", "public_key", "bundle_ids", "environment"])
            guard let teamID = try fields.text("team_id"), !teamID.isEmpty else {
                throw SimulatorError("team_id: missing")
            }
            guard let pem = try fields.text("public_key") else { throw SimulatorError("public_key: missing") }
            guard let bundleIDs = try fields.texts("bundle_ids") else { throw SimulatorError("bundle_ids: missing") }
            let key = try ProviderKey(
                teamID: teamID, publicKeyPEM: pem, bundleIDs: Set(bundleIDs),
                environment: try fields.choice("environment", PushEnvironment.self))
            try parts.keys.set(key, id: id)
            return .done
        case "DELETE": return found(parts.keys.remove(id: id))
        default: return nil
        }
    }
}

/// What the control interface does to FCM, WNS, MPNS and Web Push.
extension ControlRoutes {
    /// `DELETE /access-tokens?provider=`: as if Google or Microsoft had revoked them.
    func revokeAccessTokens(_ request: ControlRequest) throws -> Answer {
        let provider = try request.choice("provider", PushProvider.self)
        return done { parts.accessTokens.revoke(provider) }
    }

    /// `PUT /channels?uri=` `{"state": …}` and `DELETE /channels?uri=`.
    func changeChannel(_ request: ControlRequest) throws -> Answer? {
        guard ["PUT", "DELETE"].contains(request.method) else { return nil }
        let uri = request.query["uri"] ?? ""
        guard (1...SimulatorLimits.deviceNameBytesMax).contains(uri.utf8.count) else {
            throw SimulatorError("uri: not of 1 to \(SimulatorLimits.deviceNameBytesMax) bytes")
        }
        if request.method == "DELETE" { return found(parts.channelStates.remove(uri: uri)) }
        let fields = Fields(try request.object(), path: "")
        try fields.allowOnly(["state"])
        guard let state = try fields.choice("state", ChannelState.self) else { throw SimulatorError("state: missing") }
        return try done { try parts.channelStates.set(state, uri: uri) }
    }

    /// `POST /webpush/subscriptions` and `DELETE /webpush/subscriptions?endpoint=`.
    func changeSubscription(_ request: ControlRequest) throws -> Answer? {
        switch request.method {
        case "POST":
            let fields = Fields(request.body.isEmpty ? [:] : try request.object(), path: "")
            try fields.allowOnly(["application_server_key"])
            let key = try fields.text("application_server_key")
            return .json(201, try parts.subscriptions.make(applicationServerKey: key))
        case "DELETE": return found(parts.subscriptions.unsubscribe(request.query["endpoint"] ?? ""))
        default: return nil
        }
    }
}

/// One request to the control interface.
struct ControlRequest {
    let method: String
    /// The parts of the path, percent-decoded, without empty ones.
    let path: [String]
    let query: [String: String]
    let body: [UInt8]

    /// Takes `request` apart.
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
        try Fields(query, path: "").choice(name, type)
    }

    /// The whole number `name` of the query within `range`, or `standard` when there is none.
    func integer(_ name: String, in range: ClosedRange<Int>, standard: Int) throws -> Int {
        guard let text = query[name] else { return standard }
        guard let number = Int(text), range.contains(number) else {
            throw SimulatorError("\(name): not a whole number of \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
