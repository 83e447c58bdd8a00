internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Registration of a device by its own app, its topics, and the key for subscriptions of browsers.
struct DeviceRegistrations: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func register(_ call: Call) async throws -> Answer {
        let app = try call.app()
        guard case .key(let key) = call.caller.identity else {
            throw PealError(.forbidden, "registering requires the app's device key")
        }
        let given = try call.body(DeviceShapes.registration.shape, .device)
        if let known = try await installation(given.deviceToken, app: app.key, now: call.now) {
            try services.quotas.spend(known)
        } else {
            try services.quotas.spend(registrationWith: key.key.id, from: call.visit.address)
        }
        let registration = try given.device.registration(id: services.newDeviceID(at: call.now), services.addressRules)
        let draft = InstallationVerbs.Draft(
            registration: registration, omissions: given.omissions,
            capabilities: given.capabilities ?? .unstated, sdkVersion: given.sdkVersion, deviceToken: given.deviceToken)
        let proof = UserProof(
            user: registration.userID, text: given.userProof,
            isNeeded: app.settings[DeviceSettings.verifyUserID], secret: key.sharedSecret)
        let isWeb = registration.address.route.addressForm == .subscription
        let serverKey = try await isWeb ? applicationServerKey(of: app) : nil
        let result = try await services.verbs.installations.register(
            draft, app: app.key, key: key.key.id, call.verb
        ) { present throws(PealError) in
            try proof.check(present: present, now: call.now)
        }
        return Answer(result.isNew ? .created : .ok, Self.json(result, of: app, serverKey, now: call.now))
    }

    /// - Parameter serverKey: the app's newest VAPID key, for a browser: so it need not ask for it at each visit.
    private static func json(
        _ result: InstallationVerbs.Registered, of app: App, _ serverKey: String?, now: Timestamp
    ) -> JSON {
        let keys = result.modelKeys.map { key -> JSON in
            ["kid": .string(key.id), "public_key": .string(Base64URL.padded(key.publicKey))]
        }
        return .compact([
            ("device", .string(result.device.id.description)), ("device_token", .string(result.deviceToken)),
            ("app", .string(app.bundleID ?? app.id.description)), ("user_id", result.device.userID.map(JSON.string)),
            ("now", .string(now.withMilliseconds)), ("model_keys", .array(keys)),
            ("application_server_key", serverKey.map(JSON.string)),
        ])
    }

    /// The app's device that registers again, if the token proves it. Phones do so at every start of the app, and many
    /// may share an address.
    private func installation(_ deviceToken: String?, app: AppKey, now: Timestamp) async throws -> Installation? {
        guard let deviceToken else { return nil }
        let hash = services.hasher.hash(deviceToken)
        let found = try await services.store.read(.brief) { try $0.installation(tokenHash: hash, now: now) }
        return found?.app == app ? found : nil
    }

    func show(_ call: Call) async throws -> Answer {
        let caller = try call.device()
        let (app, key) = (caller.installation.app, caller.installation.device)
        guard let device = try await services.store.read({ try $0.device(app: app, key: key) }) else {
            throw PealError.notFound("device")
        }
        return Answer(.ok, Self.json(device, caller.installation, now: call.now))
    }

    func delete(_ call: Call) async throws -> Answer {
        let caller = try call.device()
        try await services.verbs.devices.delete(caller.id, app: caller.installation.app, call.verb)
        return Answer(.noContent)
    }

    func subscribe(_ call: Call) async throws -> Answer {
        try await change(call, add: [try call.text("topic")])
    }

    func unsubscribe(_ call: Call) async throws -> Answer {
        try await change(call, remove: [try call.text("topic")])
    }

    private func change(_ call: Call, add: [String] = [], remove: [String] = []) async throws -> Answer {
        let caller = try call.device()
        _ = try await services.verbs.devices.changeTopics(
            of: caller.id, app: caller.installation.app, add: add, remove: remove, call.verb)
        return Answer(.noContent)
    }

    /// The key with which a page subscribes to pushes.
    func webKey(_ call: Call) async throws -> Answer {
        guard let newest = try await applicationServerKey(of: try call.app()) else {
            throw PealError(.notFound, "the app has no credential for Web Push")
        }
        return Answer(.ok, ["application_server_key": .string(newest)])
    }

    /// The app's newest VAPID key; nil if it has none.
    private func applicationServerKey(of app: App) async throws -> String? {
        ApplicationServerKeys(try await services.credentialRecords(app)).publicKeys.last
    }

    private static func json(_ device: Device, _ installation: Installation, now: Timestamp) -> JSON {
        let shown = device.nativeJSON(at: now)
        var members = JSON.Members([("device", .string(device.id.description))])
        for name in [
            "platform", "environment", "address", "user_id", "topics", "identifiers", "locale", "time_zone",
            "os_version", "app_version", "model", "manufacturer", "attributes",
        ] {
            if let value = shown[name], !value.isNull { members[name] = value }
        }
        if device.address.route.otherEnvironment == nil { members["environment"] = nil }
        if let version = installation.sdkVersion { members["sdk_version"] = .string(version) }
        let capabilities = DeviceShapes.capabilityNames.map { name, capability in
            (name, JSON.bool(installation.capabilities.contains(capability)))
        }
        members["capabilities"] = .object(JSON.Members(capabilities))
        members["registered_at"] = .string(device.registeredAt.withMilliseconds)
        return .object(members)
    }
}

/// Decides whether a device may have the user that it names. The key in an app proves nothing about a person; a
/// statement signed by the app's backend does.
struct UserProof: Sendable {
    /// The user that the device names; nil if it names none.
    let user: String?
    let text: String?
    /// Whether the app requires proofs.
    let isNeeded: Bool
    /// Hexadecimal text.
    let secret: String?

    /// - Parameter present: the user that the device already has, if its token is valid.
    /// - Throws: `missing_field`, `forbidden`.
    func check(present: String?, now: Timestamp) throws(PealError) {
        guard let user, isNeeded, present.map(ExactText.init) != ExactText(user) else { return }
        guard let text else {
            throw PealError(.missingField, "user_id requires user_proof, signed by your backend", field: "user_proof")
        }
        let demand = "user_proof must be signed with the device key's shared secret for this user_id"
        let refusal = { (text: String) in PealError(.forbidden, text, field: "user_proof") }
        let proved = try SignedUser(text, member: "user_id", secrets: [secret].compactMap(\.self), now: now)
            .id(of: "user_proof", demand, refusal: refusal)
        guard ExactText(proved) == ExactText(user) else { throw refusal(demand) }
    }
}
