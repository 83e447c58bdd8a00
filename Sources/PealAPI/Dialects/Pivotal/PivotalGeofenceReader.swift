internal import PealCore

/// Reads geofences, locations and groups. A change has only the members that change.
enum PivotalGeofenceReader {
    static func plan(_ body: Tolerance) throws(PealError) -> Geofence.Plan {
        guard let word = try body.text("trigger_type") else { throw .missing("trigger_type") }
        guard let expiresAt = try body.milliseconds("expiry_time") else { throw .missing("expiry_time") }
        guard body["locations"] != nil else { throw .missing("locations") }
        guard body["data"] != nil else { throw .missing("data") }
        var plan = Geofence.Plan(
            trigger: try trigger(word), expiresAt: expiresAt, locationIDs: [], data: .init())
        try apply(body, to: &plan)
        return plan
    }

    static func apply(_ body: Tolerance, to plan: inout Geofence.Plan) throws(PealError) {
        if gives(body, "tags") {
            let tags = try body.texts("tags", countMax: Limits.geofenceTagsMax, bytesMax: Limits.topicBytesMax)
            plan.tags = Set(tags.map { $0.lowercased() }).sorted()
        }
        if let word = try body.text("trigger_type") { plan.trigger = try trigger(word) }
        if gives(body, "start_time") { plan.startsAt = try body.milliseconds("start_time") }
        if let expiresAt = try body.milliseconds("expiry_time") { plan.expiresAt = expiresAt }
        if gives(body, "platform") { plan.reach = try reach(body) }
        if gives(body, "locations") {
            plan.locationIDs = try ids(body, "locations", countMax: Limits.geofenceLocationsMax)
            guard !plan.locationIDs.isEmpty else {
                throw PealError(.missingField, "locations must name at least one", field: "locations")
            }
        }
        if let data = try body.object("data") { plan.data = try checked(data) }
        if let startsAt = plan.startsAt, plan.expiresAt <= startsAt {
            throw .invalid("expiry_time", "expiry_time must be later than start_time")
        }
    }

    static func place(_ body: Tolerance) throws(PealError) -> GeofenceLocation.Place {
        for name in ["name", "lat", "long", "rad"] where body[name] == nil { throw .missing(name) }
        var place = GeofenceLocation.Place(name: "", latitude: "", longitude: "", radius: "")
        try apply(body, to: &place)
        return place
    }

    static func apply(_ body: Tolerance, to place: inout GeofenceLocation.Place) throws(PealError) {
        if let name = try body.text("name") { place.name = name }
        if let text = try number(body, "lat", in: -90...90) { place.latitude = text }
        if let text = try number(body, "long", in: -180...180) { place.longitude = text }
        if let text = try number(body, "rad", in: 0...Self.radiusMax) { place.radius = text }
    }

    static func group(_ body: Tolerance) throws(PealError) -> LocationGroup.Plan {
        guard body["name"] != nil else { throw .missing("name") }
        var plan = LocationGroup.Plan(name: "", text: "", locationIDs: [])
        try apply(body, to: &plan)
        return plan
    }

    static func apply(_ body: Tolerance, to plan: inout LocationGroup.Plan) throws(PealError) {
        if let name = try body.text("name") { plan.name = name }
        if body.isCleared("description") { plan.text = "" }
        if let text = try body.text("description", bytesMax: Limits.attributesBytesMax) { plan.text = text }
        for name in ["location_ids", "locations"] where gives(body, name) {
            plan.locationIDs = try ids(body, name, countMax: Limits.locationGroupLocationsMax)
            break
        }
    }

    /// A page: `page` from 1, `size`, `q`, `timestamp`.
    static func page(_ query: Query) throws(PealError) -> NumberedPageQuery {
        let page = try whole(query, "page", in: 1...Int64(Int32.max)) ?? 1
        let size = try whole(query, "size", in: 1...Int64(Limits.listItemsMax)) ?? Int64(Limits.geofencesPageDefault)
        let after = try whole(query, "timestamp", in: Int64.min...Int64.max)
        return NumberedPageQuery(
            page: Int(page), size: Int(size), text: query["q"],
            updatedAfter: after.flatMap { $0 > 0 ? Timestamp(milliseconds: $0) : nil })
    }

    static func whole(_ query: Query, _ name: String, in range: ClosedRange<Int64>) throws(PealError) -> Int64? {
        guard let text = query[name] else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            throw .invalid(name, "\(name) must be an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Half the earth's circumference.
    private static let radiusMax = 20_037_500.0

    private static func gives(_ body: Tolerance, _ name: String) -> Bool {
        body.members[name].map { !$0.isNull } ?? false
    }

    private static func trigger(_ word: String) throws(PealError) -> Geofence.Trigger {
        guard let trigger = Geofence.Trigger(rawValue: word.lowercased()) else {
            throw .invalid("trigger_type", "trigger_type must be enter or exit")
        }
        return trigger
    }

    private static func reach(_ body: Tolerance) throws(PealError) -> Geofence.Reach {
        guard let word = try body.text("platform")?.lowercased() else { return .all }
        // The SDK sends the name of its push network.
        let name = word.hasPrefix("android") ? "android" : word
        guard let reach = Geofence.Reach(rawValue: name) else {
            throw .invalid("platform", "platform must be android, ios or all")
        }
        return reach
    }

    private static func checked(_ data: Tolerance) throws(PealError) -> JSON.Members {
        let json = JSON.object(data.members)
        guard json.bytes.count <= Limits.geofenceDataBytesMax else {
            throw .invalid(data.path, "\(data.path) may be at most \(Limits.geofenceDataBytesMax) bytes long")
        }
        try ControlCharacters.refuse(in: json, data.path, except: ControlCharacters.inContent)
        return data.members
    }

    /// Ids as numbers or strings, or the objects in answers; each once.
    private static func ids(_ body: Tolerance, _ name: String, countMax: Int) throws(PealError) -> [Int64] {
        guard let (value, path) = body[name] else { return [] }
        guard let elements = value.arrayValue else {
            throw .invalid(path, "\(path) must be an array, not \(value.typeName)")
        }
        guard elements.count <= countMax else {
            throw .invalid(path, "\(path) may have at most \(countMax) elements")
        }
        var ids: [Int64] = []
        for (index, element) in elements.enumerated() {
            let scalar = element["id"] ?? element
            guard let id = Tolerance.plainText(scalar).flatMap({ Int64($0) }) else {
                throw .invalid("\(path)[\(index)]", "\(path)[\(index)] must be the id of a location")
            }
            if !ids.contains(id) { ids.append(id) }
        }
        return ids
    }

    /// The number as written.
    private static func number(
        _ body: Tolerance, _ name: String, in range: ClosedRange<Double>
    ) throws(PealError) -> String? {
        guard let text = try body.text(name, bytesMax: Limits.geofenceCoordinateCharactersMax) else { return nil }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }),
            let number = Double(text), range.contains(number)
        else {
            throw .invalid(name, "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return text
    }
}

/// Writes geofences, locations and groups. If the documents and the SDKs name a member differently, it is written under
/// both names.
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

    /// - Parameter name: of the list; the name of its total is derived from it.
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

    /// As a number if the text is a JSON number (`+5` and `05` are not).
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
