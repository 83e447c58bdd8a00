/// Registers, changes and erases devices, and subscribes them.
package struct DeviceVerbs: Sendable {
    let store: any Store
    /// Each provider checks the addresses of its network.
    let providers: [ProviderName: any Provider]
    let quota: DeviceQuota

    /// - Parameter isAudited: whether the audit log records the registration. It does not if devices register
    ///   themselves.
    /// - Throws: `invalid_field` with a field path beginning with `address`.
    package func register(
        _ registration: DeviceRegistration, app: AppKey, isAudited: Bool = false, _ call: VerbCall,
        reply: @escaping @Sendable (DeviceRegistration.Result) throws -> Reply
    ) async throws -> Reply {
        try await quota.reserving(1, for: app, store) { room in
            let (reply, made) = try await store.commit(.intake, call, reply: reply) { [self] store in
                let result = try register(registration, app: app, isFull: room == 0, in: store, now: call.now)
                if isAudited { try store.audit(call, app: app, "device.put", "device \(result.device.id)") }
                return result
            }
            return (reply, made?.isNew == true ? 1 : 0)
        }
    }

    /// Registers a device as a part of a larger change.
    /// - Parameter isFull: whether the app may have no more devices.
    /// - Throws: `rate_limited` for a new device of an app that may have no more, `invalid_field` for too many topics
    ///   or with a field path beginning with `address`.
    func register(
        _ registration: DeviceRegistration, app: AppKey, isFull: Bool, in store: any StoreWriting, now: Timestamp
    ) throws -> DeviceRegistration.Result {
        try admit(registration, isFull: isFull, app: app, in: store)
        var registration = registration
        try complete(&registration, try check(of: [registration.address], app: app, in: store), app: app, in: store)
        return try store.register(registration, app: app, now: now)
    }

    /// The result for each device of a batch, in its order.
    package typealias BatchResult = Result<Registered, PealError>

    /// A registered device of a batch.
    package struct Registered: Sendable {
        package let id: DeviceID
        package let isNew: Bool
    }

    /// Registers the valid devices in one transaction and reports the others. The error of an address has a field path
    /// beginning with `address`, and that of a device after too many changed topics the field `topics`.
    package func register(
        _ batch: [Result<DeviceRegistration, PealError>], app: AppKey, _ call: VerbCall,
        reply: @escaping @Sendable ([BatchResult]) throws -> Reply
    ) async throws -> Reply {
        try await quota.reserving(batch.count, for: app, store) { room in
            let (reply, made) = try await store.commit(.batch, call, reply: reply) { [self] store in
                let results = try register(batch, app: app, room: room, in: store, now: call.now)
                let count = results.count { (try? $0.get()) != nil }
                let all = Spelling.counted(results.count, "device")
                try store.audit(call, app: app, "device.batch", "\(count) of \(all)")
                return results
            }
            return (reply, made?.count { (try? $0.get())?.isNew == true } ?? 0)
        }
    }

    private func register(
        _ batch: [Result<DeviceRegistration, PealError>], app: AppKey, room: Int, in store: any StoreWriting,
        now: Timestamp
    ) throws -> [BatchResult] {
        var (left, topicsLeft) = (room, quota.topicChangesPerBatch)
        let check = try check(of: batch.compactMap { try? $0.get().address }, app: app, in: store)
        return try batch.map { item -> BatchResult in
            var registration: DeviceRegistration
            do {
                registration = try item.get()
                try admit(registration, isFull: left <= 0, app: app, in: store)
                if topicsLeft <= 0 { throw quota.refusalOfBatch(in: "topics") }
                try complete(&registration, check, app: app, in: store)
            } catch let error as PealError where error.code.httpStatus < 500 {
                return .failure(error)
            }
            let result = try store.register(registration, app: app, now: now)
            if result.isNew { left -= 1 }
            topicsLeft -= result.topicChanges
            return .success(Registered(id: result.device.id, isNew: result.isNew))
        }
    }

    /// Divides registrations into batches that stay within the limits of one batch, even if every device is new.
    package func batches(
        _ registrations: [Result<DeviceRegistration, PealError>]
    ) -> [ArraySlice<Result<DeviceRegistration, PealError>>] {
        var (batches, start, topics) = ([ArraySlice<Result<DeviceRegistration, PealError>>](), 0, 0)
        for (index, registration) in registrations.enumerated() {
            if index - start == Limits.devicesPerBatchMax || topics >= quota.topicChangesPerBatch {
                batches.append(registrations[start..<index])
                (start, topics) = (index, 0)
            }
            topics += (try? registration.get().topics?.count) ?? 0
        }
        return batches + (start < registrations.count ? [registrations[start...]] : [])
    }

    /// Edits a device. `edit` receives the device, or nil if it is unknown, and returns the registration that replaces
    /// it. An unchanged address is not checked again.
    package func change(
        _ id: DeviceID, app: AppKey, isAudited: Bool = false, _ call: VerbCall,
        edit: @escaping @Sendable (Device?) throws(PealError) -> DeviceRegistration
    ) async throws -> DeviceRegistration.Result {
        try await quota.reserving(1, for: app, store) { room in
            let result: DeviceRegistration.Result = try await store.write(.intake) { [self] store in
                let device = try store.device(app: app, id: id)
                var registration = try edit(device)
                try admit(registration, isFull: room == 0, app: app, in: store)
                if registration.address != device?.address {
                    let check = try check(of: [registration.address], app: app, in: store)
                    try complete(&registration, check, app: app, in: store)
                }
                let result = try store.register(registration, app: app, now: call.now)
                if isAudited { try store.audit(call, app: app, "device.change", "device \(id)") }
                return result
            }
            return (result, result.isNew ? 1 : 0)
        }
    }

    /// - Throws: `rate_limited` for a new device of an app that may have no more, `invalid_field` for too many topics.
    private func admit(
        _ registration: DeviceRegistration, isFull: Bool, app: AppKey, in store: any StoreReading
    ) throws {
        if let refusal = quota.refusal(ofTopics: registration.topics?.count ?? 0, in: "topics") { throw refusal }
        guard isFull, try store.device(app: app, id: registration.id) == nil,
            try store.devices(app: app, DeviceFilter(address: registration.address), after: 0, limit: 1).isEmpty
        else { return }
        throw quota.refusal
    }

    /// The check for `addresses`. The app's keys are read only if one of the addresses needs a key.
    private func check(of addresses: [Address], app: AppKey, in store: any StoreReading) throws -> AddressCheck {
        let needsKeys = addresses.contains { $0.route.addressForm == .subscription }
        let records = needsKeys ? try store.credentialRecords(app: app) : []
        return AddressCheck(providers: providers, keys: ApplicationServerKeys(records))
    }

    /// Checks the address of a registration and replaces it with the form that is stored. A subscription that names no
    /// key keeps the key of its earlier registration, because a browser that subscribes with another key gets another
    /// endpoint.
    private func complete(
        _ registration: inout DeviceRegistration, _ check: AddressCheck, app: AppKey, in store: any StoreReading
    ) throws {
        let address = registration.address
        var fallback: String?
        if address.route.addressForm == .subscription, address.applicationServerKey == nil {
            let known = try store.devices(app: app, DeviceFilter(address: address), after: 0, limit: 1)
            fallback = known.first?.address.applicationServerKey
        }
        registration.address = try check.checked(address, fallback: fallback)
    }

    /// - Throws: `not_found`; `invalid_field` when the device would have too many topics.
    package func changeTopics(
        of id: DeviceID, app: AppKey, add: [String], remove: [String], _ call: VerbCall
    ) async throws -> Device {
        try await store.write(.intake) { [quota] store in
            guard let device = try store.device(app: app, id: id) else { throw PealError.notFound("device") }
            let topics = Set(device.topics(at: call.now)).subtracting(remove).union(add)
            if let refusal = quota.refusal(ofTopics: topics.count, in: "topics") { throw refusal }
            try store.changeTopics(app: app, device: device.key, add: add, remove: remove, now: call.now)
            guard let changed = try store.device(app: app, id: id) else { throw PealError.notFound("device") }
            try store.audit(call, app: app, "device.topics", "device \(id)")
            return changed
        }
    }

    /// - Parameter isOwn: A device for which it is false counts as not found.
    /// - Throws: `not_found`.
    package func delete(
        _ id: DeviceID, app: AppKey, where isOwn: @escaping @Sendable (Device) -> Bool = { _ in true }, _ call: VerbCall
    ) async throws {
        try await store.write(.control) { store in
            if let device = try store.device(app: app, id: id), !isOwn(device) {
                throw PealError.notFound("device")
            }
            guard try store.deleteDevice(app: app, id: id, now: call.now) else { throw PealError.notFound("device") }
            try store.audit(call, app: app, "device.delete", "device \(id)")
        }
        quota.free(1, of: app)
    }

    /// Erases a user, in pieces. The audit does not name the person, because the erasure removes every trace.
    /// - Returns: How many devices were erased.
    package func deleteUser(_ userID: String, app: AppKey, _ call: VerbCall) async throws -> Int {
        var count = 0
        while true {
            let before = count
            let piece = try await store.write(.control) { store in
                let piece = try store.deleteUser(app: app, userID: userID, now: call.now)
                if piece.isComplete {
                    let devices = Spelling.counted(before + piece.devices, "device")
                    try store.audit(call, app: app, "user.erase", "a user with \(devices)")
                }
                return piece
            }
            count += piece.devices
            quota.free(piece.devices, of: app)
            if piece.isComplete { return count }
        }
    }
}

/// Topics for one device of a batch. Its id or its address identifies the device.
package struct SubscriptionDraft: Sendable {
    package enum Target: Sendable {
        case device(DeviceID)
        /// All addresses that the text may represent.
        case addresses([Address])
    }

    package let target: Target
    package let topics: [String]

    package init(target: Target, topics: [String]) {
        self.target = target
        self.topics = topics
    }
}

extension DeviceVerbs {
    /// Subscribes devices to further topics: all devices of the batch, or none.
    /// - Returns: The error of each draft, in order; nil for a valid one. With any error, nothing was changed.
    package func subscribe(
        _ drafts: [SubscriptionDraft], app: AppKey, _ call: VerbCall
    ) async throws -> [PealError?] {
        do {
            return try await store.write(.batch) { [self] store in
                var topicsLeft = quota.topicChangesPerBatch
                let faults = try drafts.map { draft -> PealError? in
                    if topicsLeft <= 0 { return quota.refusalOfBatch(in: "tags") }
                    topicsLeft -= draft.topics.count
                    return try fault(of: draft, app: app, call, in: store)
                }
                guard faults.allSatisfy({ $0 == nil }) else { throw Undone(faults: faults) }
                return faults
            }
        } catch let undone as Undone {
            return undone.faults
        }
    }

    /// Rolls the transaction back.
    private struct Undone: Error {
        let faults: [PealError?]
    }

    private func fault(
        of draft: SubscriptionDraft, app: AppKey, _ call: VerbCall, in store: any StoreWriting
    ) throws -> PealError? {
        let devices = try Self.devices(draft.target, app: app, in: store)
        if devices.isEmpty { return .notFound("device") }
        for device in devices {
            let topics = Set(device.topics(at: call.now)).union(draft.topics)
            if let refusal = quota.refusal(ofTopics: topics.count, in: "tags") { return refusal }
            try store.changeTopics(app: app, device: device.key, add: draft.topics, remove: [], now: call.now)
        }
        return nil
    }

    private static func devices(
        _ target: SubscriptionDraft.Target, app: AppKey, in store: any StoreReading
    ) throws -> [Device] {
        switch target {
        case .device(let id): try store.device(app: app, id: id).map { [$0] } ?? []
        case .addresses(let addresses):
            try addresses.flatMap { try store.devices(app: app, DeviceFilter(address: $0), after: 0, limit: 1) }
        }
    }
}
