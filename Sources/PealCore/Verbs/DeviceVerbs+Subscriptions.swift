/// Topics for one device of a batch, which is named by its id or by its address.
package struct SubscriptionDraft: Sendable {
    package enum Target: Sendable {
        case device(DeviceID)
        /// Every address that the text can be.
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
    /// Subscribes devices to topics beside those that they have: all of the batch, or none of it.
    /// - Returns: what is wrong with each draft, in order; nil for one that is good. One error, and nothing was done.
    package func subscribe(
        _ drafts: [SubscriptionDraft], app: AppKey, _ call: VerbCall
    ) async throws -> [PealError?] {
        do {
            return try await store.write(.intake) { store in
                let faults = try drafts.map { try Self.fault(of: $0, app: app, call, in: store) }
                guard faults.allSatisfy({ $0 == nil }) else { throw Undone(faults: faults) }
                return faults
            }
        } catch let undone as Undone {
            return undone.faults
        }
    }

    /// Takes the transaction back.
    private struct Undone: Error {
        let faults: [PealError?]
    }

    private static func fault(
        of draft: SubscriptionDraft, app: AppKey, _ call: VerbCall, in store: any StoreWriting
    ) throws -> PealError? {
        let devices = try devices(draft.target, app: app, in: store)
        if devices.isEmpty { return .notFound("device") }
        for device in devices {
            let topics = Set(device.topics(at: call.now)).union(draft.topics)
            guard topics.count <= Limits.topicsPerDeviceMax else {
                return .invalid("tags", "a device may have \(Limits.topicsPerDeviceMax) tags at most")
            }
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
