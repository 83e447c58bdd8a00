/// The control interface: reads and empties the inbox, puts faults, marks and keys.
struct ControlRoutes: Sendable {
    let parts: SimulatorParts
    let mode: SimulatorMode

    /// Answers `request`. A wrong field is a 400 that names it, an unknown path a 404.
    func answer(_ request: ControlRequest) -> ControlResponse {
        do {
            return try route(request) ?? .failure(404, "no such path: \(request.method)")
        } catch {
            return .failure(400, "\(error)")
        }
    }

    private func route(_ request: ControlRequest) throws -> ControlResponse? {
        switch (request.method, request.path) {
        case ("GET", ["healthz"]): .init(json: JSONText.object([("ok", "true"), ("mode", "\"\(mode.rawValue)\"")]))
        case ("GET", ["inbox"]): try readInbox(request)
        case ("GET", ["inbox", "summary"]): .init(json: parts.inbox.summaryJSON())
        case ("DELETE", ["inbox"]): done { parts.inbox.clear() }
        case ("DELETE", ["faults"]): done { parts.faults.clear() }
        case ("POST", ["script"]): try loadScript(request)
        case (_, let path) where path.count == 3 && path[0] == "faults" && path[1] == "devices":
            try changeFault(request, device: try device(path[2]))
        case (_, let path) where path.count == 2 && path[0] == "devices":
            try changeMark(request, device: try device(path[1]))
        case (_, let path) where path.count == 2 && path[0] == "keys": try changeKey(request, id: path[1])
        default: nil
        }
    }

    private func done(_ body: () throws -> Void) rethrows -> ControlResponse {
        try body()
        return .done
    }

    private func found(_ isFound: Bool) -> ControlResponse {
        isFound ? .done : .failure(404, "not found")
    }

    private func device(_ text: String) throws -> String {
        guard SimulatorLimits.deviceTokenDigits.contains(text.utf8.count), text.utf8.allSatisfy(Hexadecimal.isDigit)
        else { throw SimulatorError("device: not a device token of hexadecimal digits") }
        return text.lowercased()
    }

    private func readInbox(_ request: ControlRequest) throws -> ControlResponse {
        let limit = try request.integer(
            "limit", in: 1...SimulatorLimits.inboxPageItemsMax, standard: SimulatorLimits.inboxPageItemsDefault)
        let after = try request.integer("after", in: 0...Int.max - 1, standard: 0)
        let device = request.query["device"]?.lowercased()
        return .init(json: parts.inbox.itemsJSON(device: device, after: after, limit: limit))
    }

    private func loadScript(_ request: ControlRequest) throws -> ControlResponse {
        let script = try FaultScript(yaml: String(decoding: request.body, as: UTF8.self))
        return done { parts.faults.load(script) }
    }

    private func changeFault(_ request: ControlRequest, device: String) throws -> ControlResponse? {
        switch request.method {
        case "PUT":
            let fields = Fields(try request.object(), path: "")
            try fields.allowOnly([
                "status", "reason", "timestamp", "times", "action", "delay_ms", "code", "streams", "processed",
            ])
            let times = try fields.integer("times", in: 1...Int64.max)
            try parts.faults.set(try Fault(fields.members, path: ""), device: device, times: times)
            return .done
        case "DELETE": return found(parts.faults.remove(device: device))
        default: return nil
        }
    }

    private func changeMark(_ request: ControlRequest, device: String) throws -> ControlResponse? {
        switch request.method {
        case "PUT":
            let fields = Fields(try request.object(), path: "")
            try fields.allowOnly(["environment", "bundle_id"])
            let mark = DeviceMark(environment: try environment(fields), bundleID: try fields.text("bundle_id"))
            try parts.marks.set(mark, device: device)
            return .done
        case "DELETE": return found(parts.marks.remove(device: device))
        default: return nil
        }
    }

    private func changeKey(_ request: ControlRequest, id: String) throws -> ControlResponse? {
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
                teamID: teamID, publicKeyPEM: pem, bundleIDs: Set(bundleIDs), environment: try environment(fields))
            try parts.keys.set(key, id: id)
            return .done
        case "DELETE": return found(parts.keys.remove(id: id))
        default: return nil
        }
    }

    private func environment(_ fields: Fields) throws -> PushEnvironment? {
        try fields.text("environment").map { name in
            guard let environment = PushEnvironment(rawValue: name) else {
                throw SimulatorError("environment: not 'production' or 'sandbox'")
            }
            return environment
        }
    }
}
