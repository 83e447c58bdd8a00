/// Registers devices for their own apps, and serves what an app asks for its device.
package struct InstallationVerbs: Sendable {
    let devices: DeviceVerbs
    let hasher: any KeyHasher
    let randomness: any Randomness

    private var store: any Store { devices.store }

    /// The prefix of device tokens.
    package static let tokenPrefix = "pdt_"

    /// A device as its app describes it.
    package struct Draft: Sendable {
        /// The id for a new device.
        package var registration: DeviceRegistration
        /// What the registration leaves as it is, instead of clearing it.
        package var omissions: Omissions
        package var capabilities: Installation.Capabilities
        package var sdkVersion: String?
        /// The current token; nil if the device presents none.
        package var deviceToken: String?

        package init(
            registration: DeviceRegistration, omissions: Omissions, capabilities: Installation.Capabilities,
            sdkVersion: String?, deviceToken: String?
        ) {
            self.registration = registration
            self.omissions = omissions
            self.capabilities = capabilities
            self.sdkVersion = sdkVersion
            self.deviceToken = deviceToken
        }
    }

    /// What a device leaves out, so that it keeps its value. It could also state that there is none.
    package struct Omissions: OptionSet, Sendable {
        package static let user = Omissions(rawValue: 1)
        package static let identifiers = Omissions(rawValue: 2)
        package static let attributes = Omissions(rawValue: 4)

        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }
    }

    package struct Registered: Sendable {
        package let device: Device
        package let isNew: Bool
        /// The token that is valid from now on.
        package let deviceToken: String
        /// The keys that sign its models.
        package let modelKeys: [ModelKey]
    }

    /// Registers a device. With a valid token, the request is about the token's device; otherwise about the one that
    /// has the address, whose token and user end, or about a new one.
    /// - Parameters:
    ///   - key: the app's key that the request was sent with.
    ///   - checkUser: throws if the device may not have the user of the draft. It receives the user that the device has
    ///     already, if the token proves that it is the same device.
    package func register(
        _ draft: Draft, app: AppKey, key: KeyID, _ call: VerbCall,
        checkUser: @escaping @Sendable (_ present: String?) throws(PealError) -> Void
    ) async throws -> Registered {
        let fresh = Self.tokenPrefix + Base64URL.encode(randomness.bytes(32))
        let (freshHash, shown) = (hasher.hash(fresh), draft.deviceToken.map { (text: $0, hash: hasher.hash($0)) })
        return try await devices.quota.reserving(1, for: app, store) { room in
            let registered = try await store.write(.intake) { [devices] store in
                let present = try shown.flatMap {
                    try Self.device(tokenHash: $0.hash, app: app, in: store, now: call.now)
                }
                try checkUser(present?.userID)
                // Another device may register the address that this one leaves.
                if let present { try store.keepSpentWakes(of: present.key, app: app, now: call.now) }
                let result = try devices.register(
                    try Self.registration(draft, of: present, app: app, in: store), app: app, isFull: room == 0,
                    in: store, now: call.now)
                var installation = try Self.installation(
                    of: result.device, formerly: present, tokenHash: freshHash, key: key, app: app, in: store)
                try Self.update(&installation, draft, of: result.device, in: store, now: call.now)
                return Registered(
                    device: result.device, isNew: result.isNew,
                    deviceToken: present == nil ? fresh : shown?.text ?? fresh,
                    modelKeys: try store.provideModelKeys(app: app, now: call.now))
            }
            return (registered, registered.isNew ? 1 : 0)
        }
    }

    /// The device of the app that has the token.
    private static func device(
        tokenHash: [UInt8], app: AppKey, in store: any StoreWriting, now: Timestamp
    ) throws -> Device? {
        guard let known = try store.installation(tokenHash: tokenHash, now: now), known.app == app else { return nil }
        return try store.device(app: app, key: known.device)
    }

    /// The registration to apply: of the token's device, of the device that has the address, or of a new one.
    private static func registration(
        _ draft: Draft, of present: Device?, app: AppKey, in store: any StoreWriting
    ) throws -> DeviceRegistration {
        var registration = draft.registration
        if let present {
            registration.id = present.id
            registration.identityOnMove = .newID
            // Without the token, it may be anyone who knows the address, and could then read what is kept.
            registration.keep(draft.omissions, of: present)
        } else {
            registration.identityOnMove = .knownID
        }
        let holder = try present ?? store.device(app: app, address: registration.address)
        registration.detail.alias = holder?.detail.alias
        registration.detail.vendorOS = holder?.detail.vendorOS
        return registration
    }

    /// The stored installation of a registered device, or a new one.
    /// - Parameters:
    ///   - present: the device that the request's token belongs to; nil if it has a new token.
    ///   - tokenHash: of the new token.
    private static func installation(
        of device: Device, formerly present: Device?, tokenHash: [UInt8], key: KeyID, app: AppKey,
        in store: any StoreWriting
    ) throws -> Installation {
        let known = try store.installation(app: app, device: device.key)
        // `update` fills in the rest.
        var installation =
            known
            ?? Installation(
                app: app, device: device.key, tokenHash: tokenHash, key: key, capabilities: [],
                seenAt: Timestamp(milliseconds: 0))
        if present == nil { (installation.tokenHash, installation.sdkVersion) = (tokenHash, nil) }
        installation.key = key
        if known == nil || present?.address != device.address {
            installation.wakes.inherit(try store.spentWakes(app: app, address: device.address))
        }
        return installation
    }

    /// Stores what the device says about itself. Its wake-up budget and reachability are kept: they belong to the
    /// device and outlive its tokens.
    private static func update(
        _ installation: inout Installation, _ draft: Draft, of device: Device, in store: any StoreWriting,
        now: Timestamp
    ) throws {
        installation.capabilities = draft.capabilities
        installation.sdkVersion = draft.sdkVersion ?? installation.sdkVersion
        installation.seenAt = now
        if device.userID != nil, installation.wakes.dueAt == nil {
            installation.wakes.dueAt = installation.wakes.allowed(at: now + .seconds(Limits.wakeIntervalSeconds))
        }
        // A new installation has not reported yet what the person allows; its first sync does.
        if installation.classification != .unknown { try store.classify(&installation, of: device, at: now) }
        try store.putInstallation(installation)
    }

    /// Exchanges everything that is new with a device: stores what it reports, then reads what it lacks, because no
    /// writer should wait while the content of many messages is read. A repeated call has no further effect.
    package func sync(_ sync: DeviceSync, of device: DeviceKey, app: AppKey, now: Timestamp) async throws -> SyncResult
    {
        let visible = try await visible(to: device, app: app, sync.events, now: now)
        let refused = try await report(sync, visible: visible, of: device, app: app, now: now)
        return try await store.read { store in
            let reader = try Self.reader(device, app: app, in: store)
            var result = try reader.open(sync)
            result.refused = refused
            result.rules = try store.app(key: app)?.settings.rules ?? SendRules()
            result.models = try store.newModels(
                app: app, userID: reader.device.userID, held: sync.heldModels, now: now)
            return result
        }
    }

    /// Stores what a device reports in a sync. Returns the events that were refused.
    private func report(
        _ sync: DeviceSync, visible: Set<MessageID>, of device: DeviceKey, app: AppKey, now: Timestamp
    ) async throws -> [RefusedEvent] {
        try await store.write(.intake) { store in
            guard var installation = try store.installation(app: app, device: device) else { throw Self.deleted }
            let reader = try Self.reader(device, app: app, in: store)
            installation.seenAt = max(installation.seenAt, now)
            installation.report(wakes: sync.wakes, at: now)
            if let capabilities = sync.capabilities { installation.capabilities = capabilities }
            try store.classify(&installation, of: reader.device, at: now)
            let refused = try reader.record(sync.events, visible: visible, in: store, now: now)
            let mayWait = try !sync.held.isEmpty || reader.hasOpen()
            if mayWait, installation.wakes.dueAt == nil, installation.capabilities.choosesMoments {
                installation.wakes.dueAt = now + .seconds(Limits.wakeIntervalSeconds)
            }
            try store.putInstallation(installation)
            return refused
        }
    }

    /// The messages of the events that the device may report on.
    private func visible(
        to device: DeviceKey, app: AppKey, _ events: [DeviceEvent], and message: MessageID? = nil, now: Timestamp
    ) async throws -> Set<MessageID> {
        let named = Set((events.map(\.message) + [message]).compactMap(\.self))
        guard !named.isEmpty else { return [] }
        return try await store.read { store in
            guard let owner = try store.device(app: app, key: device) else { return [] }
            return try MomentReader(store: store, device: owner, app: app).visible(among: named, now: now)
        }
    }

    /// A device's right to show a message, or the reason why it has none.
    package enum Grant: Sendable, Hashable {
        case granted(showBy: Timestamp)
        case refused(MomentClaim.Refusal)
    }

    /// Handles a device's request to show a message to its user now. A repeated claim gets the same answer.
    /// - Throws: `not_found` if the device cannot see the message.
    package func claim(
        _ message: MessageID, for device: DeviceKey, app: AppKey, id: ClaimID, rev: Int64, score: Double?,
        now: Timestamp
    ) async throws -> Grant {
        try await store.write(.intake) { store in
            guard let installation = try store.installation(app: app, device: device) else { throw Self.deleted }
            let reader = try Self.reader(device, app: app, in: store)
            guard let moment = try reader.moment(message) else { throw PealError.notFound("message") }
            let owner = reader.device
            // The device had it for a former user. The current user must not see it.
            guard owner.userID.map(ExactText.init) == ExactText(moment.userID) else { return .refused(.closed) }
            let claim = MomentClaim(
                id: id, target: .init(device: device, route: owner.address.route), rev: rev,
                hasLedger: installation.capabilities.contains(.ledger), score: score)
            guard let step = try store.apply(.claim(claim), to: moment, now: now) else { return .refused(.claimed) }
            if let refusal = step.refusal { return .refused(refusal) }
            return .granted(showBy: step.moment.claim?.until ?? now)
        }
    }

    /// Stores what happened on a device.
    /// - Parameter message: if the request is about one message: it must be visible to the device.
    /// - Returns: the events that were not stored.
    /// - Throws: `not_found` for `message`.
    package func record(
        _ events: [DeviceEvent], of message: MessageID? = nil, from device: DeviceKey, app: AppKey, now: Timestamp
    ) async throws -> [RefusedEvent] {
        let visible = try await visible(to: device, app: app, events, and: message, now: now)
        return try await store.write(.intake) { store in
            let reader = try Self.reader(device, app: app, in: store)
            if let message, !visible.contains(message) { throw PealError.notFound("message") }
            return try reader.record(events, visible: visible, in: store, now: now)
        }
    }

    /// What the calling device may see.
    /// - Throws: `unauthorized` if it was deleted.
    private static func reader(_ key: DeviceKey, app: AppKey, in store: any StoreReading) throws -> MomentReader {
        guard let device = try store.device(app: app, key: key) else { throw deleted }
        return MomentReader(store: store, device: device, app: app)
    }

    private static let deleted = PealError(.unauthorized, "the device was deleted")
}

extension DeviceRegistration {
    /// Copies what the registration omits from the stored device, because a backend may have set it.
    fileprivate mutating func keep(_ omissions: InstallationVerbs.Omissions, of device: Device) {
        if omissions.contains(.user) { userID = device.userID }
        if omissions.contains(.identifiers) { detail.identifiers = device.detail.identifiers }
        if omissions.contains(.attributes) { detail.attributes = device.detail.attributes }
        locale = locale ?? device.locale
        timeZone = timeZone ?? device.timeZone
        detail.osVersion = detail.osVersion ?? device.detail.osVersion
        detail.appVersion = detail.appVersion ?? device.detail.appVersion
        detail.model = detail.model ?? device.detail.model
        detail.manufacturer = detail.manufacturer ?? device.detail.manufacturer
        isInteractive = Interactivity.isInteractive(
            platform: address.route.platform, osVersion: detail.osVersion)
    }
}

/// What a device reports and requests in a sync.
package struct DeviceSync: Sendable {
    /// Revisions of the messages that it holds.
    package var held: [MessageID: Int64] = [:]
    /// Versions of the models that it has, by campaign.
    package var heldModels: [String: Int64] = [:]
    /// Numbers of the wake-ups that arrived.
    package var wakes: [Int64] = []
    package var events: [DeviceEvent] = []
    /// nil if they are unchanged.
    package var capabilities: Installation.Capabilities?
    package var cursor: MomentCursor?

    package init() {}
}

/// What a device learns from a sync.
package struct SyncResult: Sendable {
    /// Open messages that the device lacks, or has in another revision.
    package var messages: [OpenMoment] = []
    /// Messages that the device holds and that are no longer open for it.
    package var revoked: [MessageID] = []
    package var models: [ModelRelease] = []
    /// The app's limits, which the device keeps when it chooses moments.
    package var rules = SendRules()
    package var refused: [RefusedEvent] = []
    /// Where the next call continues; nil if there is nothing more.
    package var next: MomentCursor?
    /// The device, for which content is chosen.
    package var device: Device
}

/// An open moment with the content to show.
package struct OpenMoment: Sendable {
    package let moment: Moment
    package let campaignID: String?
    package let content: Content
    package let start: Timestamp
    /// Whether quiet hours and caps do not apply.
    package let isTransactional: Bool
}

extension StoreWriting {
    /// Classifies a device by the current evidence, and reports a change to webhooks.
    func classify(_ installation: inout Installation, of device: Device, at now: Timestamp) throws {
        guard let before = installation.classify(), let app = try app(key: installation.app) else { return }
        let transition = DeviceTransition(
            app: app.key, device: device, bundleID: app.bundleID, previous: before,
            current: installation.classification, at: now)
        // The same change has the same id wherever it is written.
        let id = OutboxEventID(high: UInt64(bitPattern: now.milliseconds), low: UInt64(bitPattern: device.key))
        try report(transition, id: id)
    }
}
