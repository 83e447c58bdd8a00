internal import Synchronization

/// The verbs of the core and what they share. The server creates one value, which the API and the console use.
package struct Verbs: Sendable {
    package let store: any Store
    package let engine: any DeliveryEngine
    package let providers: [ProviderName: any Provider]
    package let time: any TimeSource
    package let randomness: any Randomness
    package let hasher: any KeyHasher
    package let firstAdmin: FirstAdmin
    /// The hosts that addresses and webhooks may be on, which a reload of the configuration changes.
    package let hosts: HostRules
    /// Whether nothing is sent (`serve --paused`).
    package let isPaused: Bool
    private let channelDirectory: any ChannelDirectory
    private let dialects: VerbDialects
    private let deviceQuota: DeviceQuota
    private let examinations: CredentialExaminations
    private let receiptGatherer: ReceiptGatherer

    package init(
        store: any Store, engine: any DeliveryEngine, providers: [ProviderName: any Provider],
        channels: any ChannelDirectory, time: any TimeSource, randomness: any Randomness, hasher: any KeyHasher,
        firstAdmin: FirstAdmin, hosts: HostRules, dialects: VerbDialects, deviceQuota: DeviceQuota,
        examinations: CredentialExaminations = CredentialExaminations(), isPaused: Bool = false
    ) {
        self.store = store
        self.engine = engine
        self.providers = providers
        self.time = time
        self.randomness = randomness
        self.hasher = hasher
        self.firstAdmin = firstAdmin
        self.hosts = hosts
        self.isPaused = isPaused
        channelDirectory = channels
        self.dialects = dialects
        self.deviceQuota = deviceQuota
        self.examinations = examinations
        receiptGatherer = ReceiptGatherer(store: store)
    }

    package var apps: AppVerbs { AppVerbs(store: store, engine: engine) }
    package var credentials: CredentialVerbs {
        CredentialVerbs(store: store, engine: engine, providers: providers, examinations: examinations)
    }
    package var keys: KeyVerbs {
        KeyVerbs(
            store: store, hasher: hasher, randomness: randomness, firstAdmin: firstAdmin,
            loneSecretDialects: dialects.loneSecrets)
    }
    package var admins: AdminVerbs {
        AdminVerbs(store: store, hasher: hasher, randomness: randomness, first: firstAdmin)
    }
    package var signInLinks: SignInLinkVerbs {
        SignInLinkVerbs(store: store, hasher: hasher, randomness: randomness)
    }
    package var audit: AuditVerbs { AuditVerbs(store: store) }
    package var channels: ChannelVerbs { ChannelVerbs(store: store, directory: channelDirectory) }
    package var devices: DeviceVerbs { DeviceVerbs(store: store, providers: providers, quota: deviceQuota) }
    package var installations: InstallationVerbs {
        InstallationVerbs(devices: devices, hasher: hasher, randomness: randomness)
    }
    package var topics: TopicVerbs { TopicVerbs(store: store) }
    package var segments: SegmentVerbs { SegmentVerbs(store: store) }
    package var savedMessages: SavedMessageVerbs { SavedMessageVerbs(store: store) }
    package var receipts: ReceiptVerbs { ReceiptVerbs(gatherer: receiptGatherer) }
    package var routes: RouteVerbs { RouteVerbs(store: store) }
    package var models: ModelVerbs { ModelVerbs(store: store) }
    package var campaigns: CampaignVerbs { CampaignVerbs(store: store) }
    package var messages: MessageVerbs { MessageVerbs(store: store, engine: engine) }
    package var trail: DeliveryTrail { DeliveryTrail(store: store, isPaused: isPaused) }
    package var moments: MomentVerbs { MomentVerbs(store: store, engine: engine) }
    package var locations: LocationVerbs { LocationVerbs(store: store) }
    package var webhooks: WebhookVerbs { WebhookVerbs(store: store, rules: hosts.webhooks) }
    package var preview: MessagePreview {
        MessagePreview(providers: providers, dialectsNamingPlatforms: dialects.namingPlatforms)
    }
}

/// What the verbs know about the dialects, which the core does not import.
package struct VerbDialects: Sendable {
    /// Dialects whose keys are a secret without a public half.
    package let loneSecrets: [DialectName]
    /// Dialects whose authors name platforms.
    package let namingPlatforms: Set<DialectName>

    package init(loneSecrets: [DialectName], namingPlatforms: Set<DialectName>) {
        self.loneSecrets = loneSecrets
        self.namingPlatforms = namingPlatforms
    }
}

/// The hosts that addresses of devices and webhooks may be on. The configuration may be reloaded.
package final class HostRules: Sendable {
    private let rules: Mutex<(addresses: AddressRules, webhooks: WebhookRules)>

    package init(_ addresses: AddressRules, _ webhooks: WebhookRules) { rules = Mutex((addresses, webhooks)) }

    package var addresses: AddressRules { rules.withLock { $0.addresses } }
    package var webhooks: WebhookRules { rules.withLock { $0.webhooks } }

    package func set(_ addresses: AddressRules, _ webhooks: WebhookRules) {
        rules.withLock { $0 = (addresses, webhooks) }
    }
}
