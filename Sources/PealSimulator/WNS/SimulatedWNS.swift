/// WNS: channels and both of Microsoft's token endpoints on one listener (HTTP/1.1).
struct SimulatedWNS: SimulatedNetwork {
    static let name = "wns"

    let account: MicrosoftAccount
    private let parts: SharedParts

    init(_ parts: SharedParts) {
        self.parts = parts
        account = MicrosoftAccount(ids: parts.ids)
    }

    var listeners: [Listener] {
        let authorization = MicrosoftAuthorization(
            account: account, accessTokens: parts.accessTokens, lifeSeconds: parts.options.accessTokenSeconds)
        let service = WNSService(
            mode: parts.mode, judge: WNSJudge(accessTokens: parts.accessTokens), authorization: authorization,
            channels: parts.channelStates, ids: parts.ids)
        return [parts.listener(.wns, .secure, service)]
    }

    func publish(at description: SimulatorDescription) -> [(String, String)] {
        let url = description.url(.wns)
        return [
            ("package_sid", account.packageSID), ("client_secret", account.clientSecret),
            ("token_url", url + "/accesstoken.srf"), ("tenant_id", account.tenantID),
            ("client_id", account.clientID), ("tenant_client_secret", account.tenantClientSecret),
            ("tenant_token_url", "\(url)/\(account.tenantID)/oauth2/v2.0/token"),
        ]
    }
}

extension PushProvider {
    /// Windows Push Notification Services.
    package static let wns = PushProvider(SimulatedWNS.self)
}

extension ListenerName {
    static let wns = ListenerName(member: "wns_url")
}
