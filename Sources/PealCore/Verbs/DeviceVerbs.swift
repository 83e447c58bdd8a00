/// Registers, changes and erases devices, and subscribes them.
package struct DeviceVerbs: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

    package func register(
        _ registration: DeviceRegistration, app: AppKey, _ call: VerbCall,
        reply: @escaping @Sendable (DeviceRegistration.Result) throws -> Reply
    ) async throws -> Reply {
        try await store.commit(.intake, call, reply: reply) { store in
            try store.register(registration, app: app, now: call.now)
        }.reply
    }

    /// What became of each device of a batch, in its order.
    package typealias BatchResult = Result<DeviceRegistration.Result, PealError>

    /// Registers the good ones in one transaction and reports the others.
    package func register(
        _ batch: [Result<DeviceRegistration, PealError>], app: AppKey, _ call: VerbCall,
        reply: @escaping @Sendable ([BatchResult]) throws -> Reply
    ) async throws -> Reply {
        try await store.commit(.intake, call, reply: reply) { store in
            try batch.map { item -> BatchResult in
                switch item {
                case .failure(let error): return .failure(error)
                case .success(let registration):
                    return .success(try store.register(registration, app: app, now: call.now))
                }
            }
        }.reply
    }

    /// Edits what a device has. `edit` takes the device as it is, or nil, and gives the registration that replaces it.
    package func change(
        _ id: DeviceID, app: AppKey, _ call: VerbCall,
        edit: @escaping @Sendable (Device?) throws(PealError) -> DeviceRegistration
    ) async throws -> DeviceRegistration.Result {
        try await store.write(.intake) { store in
            let registration = try edit(try store.device(app: app, id: id))
            return try store.register(registration, app: app, now: call.now)
        }
    }

    /// - Throws: `not_found`; `invalid_field` when the device would have too many topics.
    package func changeTopics(
        of id: DeviceID, app: AppKey, add: [String], remove: [String], _ call: VerbCall
    ) async throws -> Device {
        try await store.write(.intake) { store in
            guard let device = try store.device(app: app, id: id) else { throw PealError.notFound("device") }
            let topics = Set(device.topics).subtracting(remove).union(add)
            guard topics.count <= Limits.topicsPerDeviceMax else {
                throw PealError.invalid("topics", "a device may have \(Limits.topicsPerDeviceMax) topics at most")
            }
            try store.changeTopics(app: app, device: device.key, add: add, remove: remove, now: call.now)
            guard let changed = try store.device(app: app, id: id) else { throw PealError.notFound("device") }
            return changed
        }
    }

    /// - Parameter isOwn: a device for which it is false counts as none.
    /// - Throws: `not_found`.
    package func delete(
        _ id: DeviceID, app: AppKey, where isOwn: @escaping @Sendable (Device) -> Bool = { _ in true }, _ call: VerbCall
    ) async throws {
        try await store.write(.control) { store in
            if let device = try store.device(app: app, id: id), !isOwn(device) {
                throw PealError.notFound("device")
            }
            guard try store.deleteDevice(app: app, id: id) else { throw PealError.notFound("device") }
            try store.audit(call, app: app, "device.delete", "device \(id)")
        }
    }

    /// Erases a user. The audit does not name the person, because the erasure takes every trace.
    /// - Returns: how many devices went.
    package func deleteUser(_ userID: String, app: AppKey, _ call: VerbCall) async throws -> Int {
        try await store.write(.control) { store in
            let count = try store.deleteUser(app: app, userID: userID)
            try store.audit(call, app: app, "user.erase", "a user with \(count) devices")
            return count
        }
    }
}
