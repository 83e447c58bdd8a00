internal import PealCore

/// Writes geofences, locations and groups. Where the documents and the SDKs name a member differently, both names are
/// written.
enum PivotalGeofenceWriter {
    static func json(_ geofence: Geofence) -> JSON {
        let plan = geofence.plan
        return [
            "id": .integer(geofence.id), "tags": .array(plan.tags.map(JSON.string)),
            "trigger_type": .string(plan.trigger.rawValue), "start_time": time(plan.startsAt),
            "expiry_time": time(plan.expiresAt), "platform": .string(plan.reach.rawValue),
            "locations": .array(geofence.locations.map { json($0) }), "data": .object(data(plan.data)),
            "created_at": time(geofence.createdAt), "updated_at": time(geofence.updatedAt),
        ]
    }

    static func json(_ location: GeofenceLocation, inGroup isInGroup: Bool = false) -> JSON {
        var members = JSON.Members([
            ("id", .integer(location.id)), ("name", .string(location.place.name)),
            ("lat", .string(location.place.latitude)), ("long", .string(location.place.longitude)),
            ("rad", radius(location.place.radius)), ("created_at", time(location.createdAt)),
            ("updated_at", time(location.updatedAt)),
        ])
        if isInGroup {
            members["createdAt"] = time(location.createdAt)
            members["updatedAt"] = time(location.updatedAt)
        }
        return .object(members)
    }

    static func json(_ group: LocationGroup) -> JSON {
        [
            "id": .integer(group.id), "name": .string(group.plan.name), "description": .string(group.plan.text),
            "locations": .array(group.locations.map { json($0, inGroup: true) }), "created_at": time(group.createdAt),
            "updated_at": time(group.updatedAt),
        ]
    }

    static func json(_ share: GeofenceShare) -> JSON {
        [
            "num": .integer(share.geofences.count), "last_modified": time(share.lastModified),
            "geofences": .array(share.geofences.map { json($0) }),
            "deleted_geofence_ids": .array(share.deletedIDs.map { .integer($0) }),
        ]
    }

    /// - Parameter name: of the list; its total is called after it.
    static func json<Item>(
        _ page: NumberedPage<Item>, _ query: NumberedPageQuery, list name: String, total: String,
        _ json: (Item) -> JSON
    ) -> JSON {
        [
            "size": .integer(query.size), "page": .integer(query.page),
            "totalPages": .integer((page.total + query.size - 1) / query.size), total: .integer(page.total),
            name: .array(page.items.map(json)),
        ]
    }

    /// 0 = at once.
    private static func time(_ instant: Timestamp?) -> JSON { .integer(instant?.milliseconds ?? 0) }

    /// As a number where the text is one in JSON too (`+5` and `05` are not).
    private static func radius(_ text: String) -> JSON {
        (try? JSONParser.parse(text)) ?? .number(String(Double(text) ?? 0))
    }

    private static func data(_ data: JSON.Members) -> JSON.Members {
        var data = data
        mirror("android", "androidFcm", in: &data)
        if var ios = data["ios"]?.objectValue {
            mirror("applicationBadgeNumber", "applicationIconBadgeNumber", in: &ios)
            data["ios"] = .object(ios)
        }
        return data
    }

    private static func mirror(_ one: String, _ other: String, in members: inout JSON.Members) {
        if let value = members[one], members[other] == nil { members[other] = value }
        if let value = members[other], members[one] == nil { members[one] = value }
    }
}
