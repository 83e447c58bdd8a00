internal import PealCore
internal import PealShapes

/// The shapes of geofences, locations and groups in requests. A change contains only the members to change.
enum PivotalGeofenceShapes {
    static let geofence = ObjectShape(
        "PivotalNewGeofence",
        Geofence.Plan(trigger: .enter, expiresAt: Timestamp(milliseconds: 0), locationIDs: [], data: .init()),
        rules: [hasEnd, endsLater]
    ) {
        Entry(required: "trigger_type", trigger) { $0.trigger = $1 }
        Entry(required: "expiry_time", PivotalShapes.milliseconds) { if let end = $1 { $0.expiresAt = end } }
        Entry(required: "locations", locations) { $0.locationIDs = $1 }
        Entry(required: "data", data) { $0.data = $1 }
        Entry("tags", PivotalShapes.topicNames(max: Limits.geofenceTagsMax)) { $0.tags = $1 ?? [] }
        Entry("start_time", PivotalShapes.milliseconds) { $0.startsAt = $1 ?? nil }
        Entry("platform", reach) { $0.reach = $1 ?? .all }
    }

    private static let hasEnd = Rule<Geofence.Plan>(
        isForChanges: false,
        violation: { _ in
            let zero: JSON = ["anyOf": [["const": 0], ["type": "string", "pattern": "^0+$"]]]
            return ["required": ["expiry_time"], "properties": ["expiry_time": zero]]
        }
    ) { plan, _, reading throws(PealError) in
        if plan.expiresAt.milliseconds == 0 { throw .missing(reading.path("expiry_time")) }
    }

    private static let endsLater = Rule<Geofence.Plan>("`expiry_time` is later than `start_time`.") {
        plan, _, _ throws(PealError) in
        if let startsAt = plan.startsAt, plan.expiresAt <= startsAt {
            throw .invalid("expiry_time", "expiry_time must be later than start_time")
        }
    }

    private static let trigger = Shape<Geofence.Trigger>.words(
        "PivotalTrigger", Geofence.Trigger.allCases.map { ($0.rawValue, $0) }, expected: "enter or exit")

    /// The platform, in any letter case. The SDK adds its push network to `android`, such as `android-fcm`.
    private static let reach = Shape.text().checked { word, reading throws(PealError) in
        let word = word.lowercased()
        guard let reach = Geofence.Reach(rawValue: word.hasPrefix("android") ? "android" : word) else {
            throw .invalid(reading.path, "platform must be android, ios or all")
        }
        return reach
    }.described { _ in
        .text(
            0...Limits.nameCharactersMax,
            pattern: #"([Ii][Oo][Ss]|[Aa][Ll][Ll]|[Aa][Nn][Dd][Rr][Oo][Ii][Dd][^\u0000-\u001f\u007f]*)"#)
    }

    private static let data = Shape<JSON.Members>.data.checked { data, reading throws(PealError) in
        guard JSON.object(data).bytes.count <= Limits.geofenceDataBytesMax else {
            throw reading.refusal("must be at most \(Limits.geofenceDataBytesMax) bytes long")
        }
        return data
    }

    private static let locations = ids(max: Limits.geofenceLocationsMax).checked { ids, reading throws(PealError) in
        guard !ids.isEmpty else {
            throw PealError(.missingField, "locations must name at least one", field: reading.path)
        }
        return ids
    }.stating(("minItems", 1))

    /// Distinct ids: as numbers, as strings, or as the objects that answers contain.
    private static func ids(max: Int) -> Shape<[Int64]> {
        Shape(
            read: { json, reading throws(PealError) in
                guard case .array(let elements) = json else { throw reading.wrongType(json, "an array") }
                guard elements.count <= max else { throw reading.refusal("may contain at most \(max) elements") }
                var ids: [Int64] = []
                for (index, element) in elements.enumerated() {
                    reading.enter(index)
                    guard let id = (element["id"] ?? element).tolerantInteger else {
                        throw reading.refusal("must be the id of a location")
                    }
                    reading.leave()
                    if !ids.contains(id) { ids.append(id) }
                }
                return ids
            },
            describe: { _ in
                let number = Schema.integer(Int64.min...Int64.max).with("type", ["integer", "string"]).with(
                    "pattern", "^-?(0|[1-9][0-9]{0,17})$")
                let object = Schema.component("PivotalLocationReference", .object([.required("id", number)]))
                return .list(.component("PivotalLocationID", .any(of: [number, object])), 0...max)
            })
    }
}

extension PivotalGeofenceShapes {
    static let location = ObjectShape(
        "PivotalNewLocation", GeofenceLocation.Circle(name: "", latitude: "", longitude: "", radius: "")
    ) {
        Entry(required: "name", .text()) { $0.name = $1 }
        Entry(required: "lat", number(-90...90, below: "[1-8]?[0-9]")) { $0.latitude = $1 }
        Entry(required: "long", number(-180...180, below: "[1-9]?[0-9]|1[0-7][0-9]")) { $0.longitude = $1 }
        // Half the earth's circumference.
        Entry(required: "rad", number(0...20_037_500, below: "0|[1-9][0-9]{0,6}")) { $0.radius = $1 }
    }

    static let group = ObjectShape("PivotalNewLocationGroup", LocationGroup.Plan(name: "", text: "", locationIDs: [])) {
        Entry(required: "name", .text()) { $0.name = $1 }
        Entry("description", .text(bytes: Limits.attributesBytesMax)) { $0.text = $1 ?? "" }
        Entry("location_ids", or: "locations", is: ids(max: Limits.locationGroupLocationsMax)) {
            $0.locationIDs = $1 ?? []
        }
    }

    /// A number, kept as the string that the request contains, without blanks around it.
    /// - Parameter below: a regular expression for the digits before the decimal point of values below the upper limit.
    private static func number(_ range: ClosedRange<Int>, below: String) -> Shape<String> {
        let limits = Double(range.lowerBound)...Double(range.upperBound)
        return Shape.text(bytes: Limits.geofenceCoordinateCharactersMax).checked { given, reading throws(PealError) in
            let text = given.trimmedBlanks
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }),
                let number = Double(text), limits.contains(number)
            else {
                throw reading.refusal("must be a number from \(limits.lowerBound) to \(limits.upperBound)")
            }
            return text
        }.described { _ in
            let sign = range.lowerBound < 0 ? "[+-]?" : "\\+?"
            let text = "\(sign)((\(below))(\\.[0-9]{1,12})?|\(range.upperBound)(\\.0{1,12})?)"
            return Schema([
                ("type", ["number", "string"]), ("minimum", .integer(range.lowerBound)),
                ("maximum", .integer(range.upperBound)), ("pattern", .string("^ {0,2}\(text) {0,2}$")),
            ])
        }
    }
}

/// The page of a list that a request asks for.
enum PivotalGeofencePage {
    /// `page` from 1, `size`, `q`, `timestamp`.
    static func page(_ query: Query) throws(PealError) -> NumberedPageQuery {
        let page = try query.integer("page", in: 1...Int(Int32.max)) ?? 1
        let size = try query.integer("size", in: 1...Limits.listItemsMax) ?? Limits.geofencesPageDefault
        return NumberedPageQuery(page: page, size: size, text: query["q"], updatedAfter: try changedAfter(query))
    }

    /// `timestamp`; nil if it is 0 or absent, which means everything.
    static func changedAfter(_ query: Query) throws(PealError) -> Timestamp? {
        let milliseconds = try query.integer("timestamp", in: Int64.min...Int64.max) ?? 0
        return milliseconds > 0 ? Timestamp(milliseconds: milliseconds) : nil
    }
}

/// Writes geofences, locations and groups. If the documents and the SDKs name a member differently, both names are
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
            ("id", .integer(location.id)), ("name", .string(location.circle.name)),
            ("lat", .string(location.circle.latitude)), ("long", .string(location.circle.longitude)),
            ("rad", radius(location.circle.radius)), ("created_at", time(location.createdAt)),
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

    /// - Parameter name: the member that holds the list.
    static func json<Item>(
        _ page: ResultPage<Item>, _ query: NumberedPageQuery, list name: String, total: String,
        _ json: (Item) -> JSON
    ) -> JSON {
        [
            "size": .integer(query.page.size), "page": .integer(query.page.number),
            "totalPages": .integer((page.total + query.page.size - 1) / query.page.size), total: .integer(page.total),
            name: .array(page.items.map(json)),
        ]
    }

    /// Milliseconds; 0 means immediately.
    private static func time(_ instant: Timestamp?) -> JSON { .integer(instant?.milliseconds ?? 0) }

    /// The radius as a JSON number: the same digits if they are valid JSON (`+5` and `05` are not).
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
