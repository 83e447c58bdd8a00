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
