/// Creates, changes and deletes geofences, and notifies the devices that have them. The messages that make devices
/// fetch them again are committed together with the change.
package struct GeofenceVerbs: Sendable {
    package let store: any Store
    package let engine: any DeliveryEngine
    /// Writes a message that makes devices fetch their geofences.
    package let announcement: Announcement

    package typealias Announcement = @Sendable (GeofenceAudience) throws(PealError) -> MessageDraft

    package init(
        store: any Store, engine: any DeliveryEngine, announcement: @escaping Announcement
    ) {
        self.store = store
        self.engine = engine
        self.announcement = announcement
    }

    /// - Throws: `conflict` beyond `Limits.geofencesPerAppMax`; `invalid_field` for a location that does not exist.
    package func create(_ plan: Geofence.Plan, app: AppKey, _ call: VerbCall) async throws -> Geofence {
        try await change(call) { store in
            let known = try store.geofences(app: app, NumberedPageQuery(page: 1, size: 1)).total
            try checkRoom(after: known, max: Limits.geofencesPerAppMax, "geofences")
            let geofence = try store.insertGeofence(plan, app: app, now: call.now)
            try store.audit(call, app: app, "geofence.create", "geofence \(geofence.id)")
            return (geofence, [], [plan])
        }
    }

    /// - Parameter edit: Changes the current plan.
    /// - Throws: `not_found`; `invalid_field` for a location that does not exist; what `edit` throws.
    package func update(
        _ id: Int64, app: AppKey, _ call: VerbCall,
        edit: @escaping @Sendable (inout Geofence.Plan) throws(PealError) -> Void
    ) async throws -> Geofence {
        try await change(call) { store in
            guard let known = try store.geofence(app: app, id: id) else { throw PealError.notFound("geofence") }
            var plan = known.plan
            try edit(&plan)
            guard let changed = try store.updateGeofence(id, plan, app: app, now: call.now) else {
                throw PealError.notFound("geofence")
            }
            try store.audit(call, app: app, "geofence.change", "geofence \(id)")
            return (changed, [known.plan], [plan])
        }
    }

    /// - Throws: `not_found`.
    package func delete(_ id: Int64, app: AppKey, _ call: VerbCall) async throws {
        try await change(call) { store in
            guard let known = try store.geofence(app: app, id: id),
                try store.deleteGeofence(id, app: app, now: call.now)
            else { throw PealError.notFound("geofence") }
            try store.audit(call, app: app, "geofence.delete", "geofence \(id)")
            return ((), [known.plan], [])
        }
    }

    /// Changes a location and all geofences that have it.
    /// - Throws: `not_found`; what `edit` throws.
    package func updateLocation(
        _ id: Int64, app: AppKey, _ call: VerbCall,
        edit: @escaping @Sendable (inout GeofenceLocation.Circle) throws(PealError) -> Void
    ) async throws -> GeofenceLocation {
        try await change(call) { store in
            guard var circle = try store.location(app: app, id: id)?.circle else {
                throw PealError.notFound("location")
            }
            try edit(&circle)
            guard let changed = try store.updateLocation(id, circle, app: app, now: call.now) else {
                throw PealError.notFound("location")
            }
            try store.audit(call, app: app, "location.change", "location \(id)")
            // A geofence that has not begun is announced at its start.
            return (changed, try store.geofences(app: app, at: id).map(\.plan), [])
        }
    }

    /// The changes that a device needs.
    /// - Parameters:
    ///   - device: nil for a device without an id or an unknown one, whose topics are not considered.
    ///   - known: The instant of the device's state; nil if it has none.
    package func share(
        of device: DeviceID?, platforms: [Platform], app: AppKey, since known: Timestamp?, now: Timestamp
    ) async throws -> GeofenceShare {
        try await store.read { store in
            let found = try device.flatMap { try store.device(app: app, id: $0) }
            let own = found.flatMap { platforms.contains($0.platform) ? $0 : nil }
            let asking = GeofenceShare.Device(
                platform: own?.platform ?? platforms.first ?? Platform.addressable[0],
                topics: try own.map { try store.topicsJoined(app: app, device: $0.key) })
            return GeofenceShare(try store.geofenceLedger(app: app), for: asking, since: known, now: now)
        }
    }

    /// - Parameter body: Returns its result, and the plans of the affected geofences before and after the change.
    private func change<Result: Sendable>(
        _ call: VerbCall,
        _ body: @escaping @Sendable (any StoreWriting) throws -> (Result, [Geofence.Plan], [Geofence.Plan])
    ) async throws -> Result {
        let offer = engine.leaseOffer
        let (result, accepted) = try await store.write(.control) { [announcement] store in
            let (result, before, after) = try body(store)
            let accepted = try GeofenceAudience.all(before: before, after: after, now: call.now).map {
                try MessageVerbs.accept(try announcement($0), offer: offer, in: store, now: call.now)
            }
            return (result, accepted)
        }
        for acceptance in accepted { acceptance.handOver(to: engine) }
        return result
    }
}

/// Creates and deletes locations of geofences and groups of locations. `GeofenceVerbs` has the changes that affect
/// geofences.
package struct LocationVerbs: Sendable {
    let store: any Store

    /// - Throws: `conflict` beyond `Limits.locationsPerAppMax`.
    package func create(
        _ circle: GeofenceLocation.Circle, app: AppKey, _ call: VerbCall
    ) async throws -> GeofenceLocation {
        try await store.write(.control) { store in
            let known = try store.locations(app: app, NumberedPageQuery(page: 1, size: 1)).total
            try checkRoom(after: known, max: Limits.locationsPerAppMax, "locations")
            let location = try store.insertLocation(circle, app: app, now: call.now)
            try store.audit(call, app: app, "location.create", "location \(location.id)")
            return location
        }
    }

    /// Deletes a location, which also removes it from its groups.
    /// - Throws: `not_found`; `conflict` while a geofence has it.
    package func delete(_ id: Int64, app: AppKey, _ call: VerbCall) async throws {
        try await store.write(.control) { store in
            if let user = try store.geofences(app: app, at: id).first {
                throw PealError(.conflict, "geofence \(user.id) uses this location")
            }
            guard try store.deleteLocation(id, app: app) else { throw PealError.notFound("location") }
            try store.audit(call, app: app, "location.delete", "location \(id)")
        }
    }

    /// - Throws: `conflict` beyond `Limits.locationGroupsPerAppMax`; `invalid_field` for a location that does not
    ///   exist.
    package func createGroup(_ plan: LocationGroup.Plan, app: AppKey, _ call: VerbCall) async throws -> LocationGroup {
        try await store.write(.control) { store in
            let known = try store.locationGroups(app: app, NumberedPageQuery(page: 1, size: 1)).total
            try checkRoom(after: known, max: Limits.locationGroupsPerAppMax, "location groups")
            let group = try store.insertLocationGroup(plan, app: app, now: call.now)
            try store.audit(call, app: app, "location_group.create", "location group \(group.id)")
            return group
        }
    }

    /// - Throws: `not_found`; `invalid_field` for a location that does not exist; what `edit` throws.
    package func updateGroup(
        _ id: Int64, app: AppKey, _ call: VerbCall,
        edit: @escaping @Sendable (inout LocationGroup.Plan) throws(PealError) -> Void
    ) async throws -> LocationGroup {
        try await store.write(.control) { store in
            guard var plan = try store.locationGroup(app: app, id: id)?.plan else {
                throw PealError.notFound("location group")
            }
            try edit(&plan)
            guard let changed = try store.updateLocationGroup(id, plan, app: app, now: call.now) else {
                throw PealError.notFound("location group")
            }
            try store.audit(call, app: app, "location_group.change", "location group \(id)")
            return changed
        }
    }

    /// - Throws: `not_found`.
    package func deleteGroup(_ id: Int64, app: AppKey, _ call: VerbCall) async throws {
        try await store.write(.control) { store in
            guard try store.deleteLocationGroup(id, app: app) else { throw PealError.notFound("location group") }
            try store.audit(call, app: app, "location_group.delete", "location group \(id)")
        }
    }
}

/// - Throws: `conflict` for one more than an app may have.
private func checkRoom(after known: Int, max: Int, _ things: String) throws(PealError) {
    guard known < max else { throw PealError(.conflict, "an app may have at most \(max) \(things)") }
}
