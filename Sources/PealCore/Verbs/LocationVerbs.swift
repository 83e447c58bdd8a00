/// Makes and deletes the locations of geofences, and groups of them. What changes geofences is in `GeofenceVerbs`.
package struct LocationVerbs: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

    /// - Throws: `conflict` beyond `Limits.locationsPerAppMax`.
    package func create(
        _ place: GeofenceLocation.Place, app: AppKey, _ call: VerbCall
    ) async throws -> GeofenceLocation {
        try await store.write(.control) { store in
            let known = try store.locations(app: app, NumberedPageQuery(page: 1, size: 1)).total
            guard known < Limits.locationsPerAppMax else {
                throw PealError(.conflict, "an app has \(Limits.locationsPerAppMax) locations at most")
            }
            let location = try store.insertLocation(place, app: app, now: call.now)
            try store.audit(call, app: app, "location.create", "location \(location.id)")
            return location
        }
    }

    /// Groups lose the location.
    /// - Throws: `not_found`; `conflict` while a geofence has it.
    package func delete(_ id: Int64, app: AppKey, _ call: VerbCall) async throws {
        try await store.write(.control) { store in
            if let user = try store.geofences(app: app, at: id).first {
                throw PealError(.conflict, "geofence \(user.id) has this location")
            }
            guard try store.deleteLocation(id, app: app) else { throw PealError.notFound("location") }
            try store.audit(call, app: app, "location.delete", "location \(id)")
        }
    }

    /// - Throws: `conflict` beyond `Limits.locationGroupsPerAppMax`; `invalid_field` for a location that there is not.
    package func createGroup(_ plan: LocationGroup.Plan, app: AppKey, _ call: VerbCall) async throws -> LocationGroup {
        try await store.write(.control) { store in
            let known = try store.locationGroups(app: app, NumberedPageQuery(page: 1, size: 1)).total
            guard known < Limits.locationGroupsPerAppMax else {
                throw PealError(.conflict, "an app has \(Limits.locationGroupsPerAppMax) location groups at most")
            }
            let group = try store.insertLocationGroup(plan, app: app, now: call.now)
            try store.audit(call, app: app, "location_group.create", "location group \(group.id)")
            return group
        }
    }

    /// - Throws: `not_found`; `invalid_field` for a location that there is not; what `edit` throws.
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
