internal import Synchronization

/// Limits the devices of an app, the topics of a device, and the subscriptions that one batch may change. The store
/// counts an app's devices at most once a minute, and only if there may be too many; in between, this server counts
/// those that it adds and deletes. Therefore servers that share a database may exceed the limit a little.
package final class DeviceQuota: Sendable {
    private struct Count {
        var devices: Int
        /// The room of registrations that have not ended.
        var reserved: Int
        /// Whether there may be fewer devices.
        let isBound: Bool
        let at: Duration
    }

    private struct State {
        var counts: [AppKey: Count] = [:]
        /// The counts in progress, for which all registrations of the app wait.
        var counting: [AppKey: Task<Void, any Error>] = [:]
    }

    private static let lasts = Duration.seconds(60)
    private static let appsMax = 10_000

    let devicesPerApp: Int
    let topicsPerDevice: Int
    let topicChangesPerBatch: Int
    private let time: any TimeSource
    private let state = Mutex(State())

    package init(
        devicesPerApp: Int = Limits.devicesPerAppMax, topicsPerDevice: Int = Limits.topicsPerDeviceMax,
        topicChangesPerBatch: Int = Limits.topicChangesPerBatchMax, time: any TimeSource
    ) {
        self.devicesPerApp = devicesPerApp
        self.topicsPerDevice = topicsPerDevice
        self.topicChangesPerBatch = topicChangesPerBatch
        self.time = time
    }

    /// The error for a device beyond the limit.
    var refusal: PealError {
        PealError(
            .rateLimited, "the app has \(devicesPerApp) devices, which is the limit", retryAfterSeconds: 60)
    }

    /// The error for a device that follows too many changed subscriptions in its batch.
    func refusalOfBatch(in field: String) -> PealError {
        .invalid(
            field,
            "the devices before it change \(topicChangesPerBatch) subscriptions, the limit of one batch; send it in "
                + "another batch")
    }

    /// Reserves room for new devices during a change, because several registrations may run at the same time, and a
    /// transaction may run more than once.
    /// - Parameter change: receives the room, at most `count`; returns its result and how many devices it added.
    func reserving<Result>(
        _ count: Int, for app: AppKey, _ store: any Store,
        _ change: (_ room: Int) async throws -> (Result, added: Int)
    ) async throws -> Result {
        let room = try await reserve(count, for: app, store)
        var added = 0
        defer {
            state.withLock { state in
                guard let count = state.counts[app] else { return }
                state.counts[app]?.devices += added
                // The count may have been forgotten meanwhile, and with it the reservation.
                state.counts[app]?.reserved = max(0, count.reserved - room)
            }
        }
        let result: Result
        (result, added) = try await change(room)
        return result
    }

    private func reserve(_ count: Int, for app: AppKey, _ store: any Store) async throws -> Int {
        while let task = counting(app, store, for: count) { try await task.value }
        return state.withLock { state in
            let room = state.counts[app].map { devicesPerApp - $0.devices - $0.reserved } ?? devicesPerApp
            let reserved = max(0, min(count, room))
            state.counts[app]?.reserved += reserved
            return reserved
        }
    }

    /// The task that counts the app's devices, which is started if necessary; nil while the last count is recent, and
    /// exact unless there is room for `wanted` devices anyway.
    private func counting(_ app: AppKey, _ store: any Store, for wanted: Int) -> Task<Void, any Error>? {
        let now = time.uptime
        return state.withLock { state in
            if let count = state.counts[app], now - count.at < Self.lasts,
                !count.isBound || count.devices + count.reserved + wanted <= devicesPerApp
            {
                return nil
            }
            if let task = state.counting[app] { return task }
            // Unstructured, because several requests wait for it, and it must not end with one of them.
            let task = Task { try await self.count(app, store, for: wanted) }
            state.counting[app] = task
            return task
        }
    }

    private func count(_ app: AppKey, _ store: any Store, for wanted: Int) async throws {
        defer { state.withLock { $0.counting[app] = nil } }
        // No key is used twice, so there are at most as many devices. That is known at once. A count reads all devices,
        // which may take longer than PostgreSQL allows a statement, and waits for the long reads of other apps.
        let most = try await store.read(.brief) { Int(try $0.lastDeviceKey(app: app)) }
        let reserved = state.withLock { $0.counts[app]?.reserved ?? 0 }
        let isBound = most + reserved + wanted <= devicesPerApp
        let devices = isBound ? most : try await store.read(.heavy) { try $0.deviceCount(app: app, route: nil) }
        let now = time.uptime
        state.withLock { state in
            if state.counts.count >= Self.appsMax { state.counts.removeAll() }
            let reserved = state.counts[app]?.reserved ?? 0
            state.counts[app] = Count(devices: devices, reserved: reserved, isBound: isBound, at: now)
        }
    }

    /// Frees the room of deleted devices.
    func free(_ count: Int, of app: AppKey) {
        guard count != 0 else { return }
        state.withLock { $0.counts[app]?.devices -= count }
    }

    /// The error for a device with that many topics; nil if it may have them.
    /// - Parameter field: what the request calls topics.
    func refusal(ofTopics count: Int, in field: String) -> PealError? {
        count > topicsPerDevice ? .invalid(field, "a device may have at most \(topicsPerDevice) \(field)") : nil
    }
}
