/// What the listeners of one simulator share.
struct SimulatorParts: Sendable {
    let inbox: Inbox
    let keys = KeyRing()
    let marks = DeviceMarks()
    let faults: FaultPlan
    let clock: SimulatorClock
    let ids: IDSource
    let broadcastChannels = BroadcastChannels()
    let channelStates = ChannelStates()
    let accessTokens: AccessTokens
    let subscriptions: WebPushSubscriptions
    let serviceAccount: ServiceAccount
    let microsoftAccount: MicrosoftAccount
    let options: SimulatorOptions

    /// Fresh parts; throws when the script is wrong.
    init(_ options: SimulatorOptions) throws {
        self.options = options
        inbox = Inbox(mode: options.mode)
        faults = FaultPlan(seed: options.seed)
        if let yaml = options.scriptYAML { faults.load(try FaultScript(yaml: yaml)) }
        clock = options.clock.skewed(by: faults.skew)
        ids = IDSource(seed: SeededRandom.mix(options.seed))
        accessTokens = AccessTokens(ids: ids)
        subscriptions = WebPushSubscriptions(ids: ids)
        serviceAccount = try ServiceAccount(projectID: SimulatorDescription.projectID, ids: ids)
        microsoftAccount = MicrosoftAccount(ids: ids)
    }

    /// Every listener, with who deals with its requests.
    func orders(_ certificates: ClientCertificateJudge) -> [ListenerName: ListenerOrder] {
        [
            .apns: apns(.production, port: options.apnsPort, certificates),
            .sandbox: apns(.sandbox, port: options.sandboxPort, certificates),
            .management: management(.production, port: options.managementPort, certificates),
            .sandboxManagement: management(.sandbox, port: options.sandboxManagementPort, certificates),
            .fcm: ListenerOrder(
                port: options.fcmPort, wire: .secureEither, desk: desk(fcm), fastDesk: fastDesk(.fcm)),
            .wns: ListenerOrder(port: options.wnsPort, wire: .secure, desk: desk(wns)),
            .mpns: ListenerOrder(port: options.mpnsPort, wire: .plain, desk: desk(mpns(certificates))),
            .mpnsSecure: ListenerOrder(
                port: options.mpnsSecurePort, wire: .secure, asksForCertificate: true,
                desk: desk(mpns(certificates))),
            .webPush: ListenerOrder(
                port: options.webPushPort, wire: .secureEither,
                desk: desk(WebPushNetwork(mode: options.mode, subscriptions: subscriptions, ids: ids))),
            .control: ListenerOrder(
                port: options.controlPort, wire: .plain, desk: ControlRoutes(parts: self, mode: options.mode)),
        ]
    }

    private func desk(_ network: any PushNetwork) -> NetworkDesk {
        NetworkDesk(network: network, inbox: inbox, faults: faults, clock: clock)
    }

    /// nil in the strict mode.
    private func fastDesk(_ provider: PushProvider, _ environment: PushEnvironment = .production) -> FastDesk? {
        guard options.mode == .fast else { return nil }
        return FastDesk(
            provider: provider, environment: environment, inbox: inbox, faults: faults, clock: clock, ids: ids)
    }

    private func judge(_ environment: PushEnvironment, _ certificates: ClientCertificateJudge) -> APNsJudge {
        APNsJudge(
            environment: environment, keys: keys, marks: marks, certificates: certificates, expired: faults.expired)
    }

    private func apns(
        _ environment: PushEnvironment, port: Int, _ certificates: ClientCertificateJudge
    ) -> ListenerOrder {
        let judge = judge(environment, certificates)
        let manners = APNsManners(
            errorsPerConnectionMax: options.errorsPerConnectionMax,
            slowsDownAfterRefusal: options.slowsDownAfterRefusal)
        let network = APNsNetwork(
            environment: environment, device: judge,
            broadcast: BroadcastJudge(device: judge, channels: broadcastChannels), manners: manners, ids: ids)
        return ListenerOrder(
            port: port, wire: .secureHTTP2, asksForCertificate: true, desk: desk(network),
            fastDesk: fastDesk(.apns, environment))
    }

    private func management(
        _ environment: PushEnvironment, port: Int, _ certificates: ClientCertificateJudge
    ) -> ListenerOrder {
        let network = ChannelManagement(
            environment: environment, device: judge(environment, certificates), channels: broadcastChannels, ids: ids,
            mode: options.mode)
        return ListenerOrder(port: port, wire: .secureHTTP2, asksForCertificate: true, desk: desk(network))
    }

    private var fcm: FCMNetwork {
        let authorization = GoogleAuthorization(
            account: serviceAccount, accessTokens: accessTokens,
            lifeSeconds: options.accessTokenSeconds ?? SimulatorLimits.accessTokenLifeSeconds)
        return FCMNetwork(
            mode: options.mode, projectID: serviceAccount.projectID, authorization: authorization, ids: ids)
    }

    private var wns: WNSNetwork {
        let authorization = MicrosoftAuthorization(
            account: microsoftAccount, accessTokens: accessTokens, lifeSeconds: options.accessTokenSeconds)
        return WNSNetwork(
            mode: options.mode, judge: WNSJudge(accessTokens: accessTokens), authorization: authorization,
            channels: channelStates, ids: ids)
    }

    private func mpns(_ certificates: ClientCertificateJudge) -> MPNSNetwork {
        MPNSNetwork(
            mode: options.mode, channels: channelStates, certificates: certificates, quota: DailyQuota(), ids: ids)
    }
}
