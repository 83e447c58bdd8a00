internal import HTTPTypes
internal import PealCore

extension PivotalDocument {
    static let geofences =
        [
            APIOperation(
                id: "pivotalListGeofences", method: .get, path: "/v1/geofence", summary: "List geofences by pages",
                parameters: PivotalSchema.geofencePage,
                answers: [
                    APIAnswer(
                        200, "A page.",
                        PivotalSchema.paged("geofences", .named("PivotalGeofence"), total: "totalGeofences"))
                ]),
            APIOperation(
                id: "pivotalSyncGeofences", method: .get, path: "/v1/geofences", summary: "What changed for a device",
                parameters: [
                    .query(
                        "timestamp", PivotalSchema.queried(.integer(Int64.min...Int64.max)),
                        "`last_modified` of the last answer; 0 = everything."),
                    .query(
                        "device_uuid", .text, "The device whose tags count; without it, all geofences are returned."),
                    .query("platform", .text, "Not looked at: the key's counts."),
                ],
                answers: [APIAnswer(200, "What changed.", PivotalSchema.share)]),
        ]
        + under(["/v1/geofence", "/v1/geofences"]) { path, suffix in
            managed(
                path, "Geofence\(suffix)", "a geofence", .named("PivotalGeofence"), PivotalSchema.newGeofence,
                PivotalSchema.geofenceChange)
        }

    static let places =
        under(["/v1/locations", "/v1/location"]) { path, suffix in
            [list(path, "Locations\(suffix)", "locations", .named("PivotalLocation"), "totalLocations")]
                + managed(
                    path, "Location\(suffix)", "a location", .named("PivotalLocation"), PivotalSchema.newLocation,
                    PivotalSchema.locationChange)
        }
        + under(["/v1/location_groups", "/v1/location_group"]) { path, suffix in
            [
                list(
                    path, "LocationGroups\(suffix)", "location_groups", .named("PivotalLocationGroup"),
                    "totalLocationGroups")
            ]
                + managed(
                    path, "LocationGroup\(suffix)", "a group of locations", .named("PivotalLocationGroup"),
                    PivotalSchema.newGroup, PivotalSchema.groupChange)
        }

    private static func list(
        _ path: String, _ id: String, _ name: String, _ item: Schema, _ total: String
    ) -> APIOperation {
        APIOperation(
            id: "pivotalList\(id)", method: .get, path: path, summary: "List them by pages",
            parameters: PivotalSchema.geofencePage
                + [.query("q", .text, "A part of the name.")],
            answers: [APIAnswer(200, "A page.", PivotalSchema.paged(name, item, total: total))])
    }

    private static func managed(
        _ path: String, _ id: String, _ noun: String, _ item: Schema, _ new: Schema, _ change: Schema
    ) -> [APIOperation] {
        let answer = APIAnswer(200, "It, as it is now.", item)
        return [
            APIOperation(
                id: "pivotalMake\(id)", method: .post, path: path, summary: "Make \(noun)", body: APIBody(schema: new),
                answers: [answer], refusals: [.conflict]),
            APIOperation(
                id: "pivotalGet\(id)", method: .get, path: "\(path)/:id", summary: "Show \(noun)", answers: [answer]),
            APIOperation(
                id: "pivotalChange\(id)", method: .put, path: "\(path)/:id", summary: "Change \(noun)",
                body: APIBody(schema: change), answers: [answer], refusals: [.conflict]),
            APIOperation(
                id: "pivotalRemove\(id)", method: .delete, path: "\(path)/:id", summary: "Remove \(noun)",
                answers: [done], refusals: [.conflict]),
        ]
    }
}

extension PivotalSchema {
    static let geofenceComponents: [(name: String, schema: Schema)] = [
        ("PivotalGeofence", geofence), ("PivotalLocation", location), ("PivotalLocationGroup", group),
    ]

    static let geofencePage: [APIParameter] = [
        .query("page", queried(.integer(1...Int64(Int32.max))), "From 1."),
        .query("size", queried(.integer(1...Int64(Limits.listItemsMax))), "How many at most."),
        .query(
            "timestamp", queried(.integer(Int64.min...Int64.max)),
            "Only what changed after it, in milliseconds since 1970."),
    ]

    private static let changed: [Property] = [.required("created_at", .count), .required("updated_at", .count)]

    private static let location = Schema.object(
        [
            .required("id", .count), .required("name", .text), .required("lat", .text), .required("long", .text),
            .required("rad", .number),
        ] + changed)

    private static let group = Schema.object(
        [
            .required("id", .count), .required("name", .text), .required("description", .text),
            .required("locations", .list(.named("PivotalLocation"))),
        ] + changed)

    private static let geofence = Schema.object(
        [
            .required("id", .count), .required("tags", .list(.text)),
            .required("trigger_type", .words(Geofence.Trigger.allCases.map(\.rawValue))),
            .required("start_time", .count), .required("expiry_time", .count),
            .required("platform", .words(Geofence.Reach.allCases.map(\.rawValue))),
            .required("locations", .list(.named("PivotalLocation"))), .required("data", .object),
            .optional("triggered", .count),
        ] + changed)

    static let share = Schema.object([
        .required("num", .count), .required("last_modified", .count),
        .required("geofences", .list(.named("PivotalGeofence"))), .required("deleted_geofence_ids", .list(.count)),
    ])

    private static let locationID = Schema.any(of: [
        number, .object([.required("id", number)]),
    ])

    /// - Parameter below: what texts may hold before the point below the limit, as a regular expression.
    private static func coordinate(_ limit: Int, below: String) -> Schema {
        .any(of: [
            Schema([("type", "number"), ("minimum", .integer(-limit)), ("maximum", .integer(limit))]),
            .text(pattern: "[+-]?((\(below))(\\.[0-9]{1,12})?|\(limit)(\\.0{1,12})?)"),
        ])
    }

    private static let latitude = coordinate(90, below: "[1-8]?[0-9]")
    private static let longitude = coordinate(180, below: "[1-9]?[0-9]|1[0-7][0-9]")

    private static let radius = Schema.any(of: [
        Schema([("type", "number"), ("minimum", 0), ("maximum", 20_037_500)]),
        .text(pattern: "\\+?(0|[1-9][0-9]{0,6})(\\.[0-9]{1,12})?"),
    ])

    private static let given = Schema.printable(1...Limits.nameCharactersMax).with(
        "type", ["string", "number", "boolean"])

    static let newLocation = Schema.object([
        .required("name", given), .required("lat", latitude), .required("long", longitude),
        .required("rad", radius),
    ])

    static let locationChange = Schema.object([
        .optional("name", given.orAbsent), .optional("lat", latitude.orAbsent),
        .optional("long", longitude.orAbsent), .optional("rad", radius.orAbsent),
    ])

    private static let groupMembers: [Property] = [
        .optional(
            "description",
            Schema.printable(0...Limits.attributesBytesMax).with("type", Schema.scalarOrNull)),
        .optional("location_ids", .list(locationID, 0...Limits.locationGroupLocationsMax).orAbsent),
    ]

    static let newGroup = Schema.object([.required("name", given)] + groupMembers)

    static let groupChange = Schema.object([.optional("name", given.orAbsent)] + groupMembers)

    private static let tags = Schema.list(
        Schema.printable(0...Limits.topicBytesMax).with("type", Schema.scalarOrNull), 0...Limits.geofenceTagsMax
    ).orAbsent

    private static let fenceMembers: [Property] = [
        .optional("tags", tags), .optional("start_time", milliseconds),
        .optional(
            "platform",
            .any(of: [
                .caseless(["ios", "all"]), .text(pattern: "([Aa][Nn][Dd][Rr][Oo][Ii][Dd].*)?"),
                Schema([("type", "null")]),
            ])),
    ]

    static let newGeofence = Schema.object(
        [
            .required("trigger_type", .caseless(["enter", "exit"])), .required("expiry_time", required(milliseconds)),
            .required("locations", .list(locationID, 1...Limits.geofenceLocationsMax)), .required("data", .object),
        ] + fenceMembers)

    static let geofenceChange = Schema.object(
        [
            .optional("trigger_type", Schema.caseless(["enter", "exit"]).orAbsent),
            .optional("expiry_time", milliseconds),
            .optional("locations", .list(locationID, 1...Limits.geofenceLocationsMax).orNull),
            .optional("data", Schema.object.orAbsent),
        ] + fenceMembers)

    private static func required(_ schema: Schema) -> Schema {
        .all(of: [schema, Schema([("not", ["enum": ["", .null, 0, "0"]])])])
    }
}
