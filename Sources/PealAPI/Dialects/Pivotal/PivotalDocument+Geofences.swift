internal import HTTPTypes
internal import PealCore
internal import PealShapes

extension PivotalDocument {
    static let geofences =
        [
            APIOperation(
                id: "pivotalListGeofences", method: .get, path: "/v1/geofence", summary: "List geofences",
                parameters: PivotalSchema.geofencePage,
                answers: [
                    APIAnswer(
                        200, "A page.",
                        PivotalSchema.paged("geofences", PivotalSchema.geofence, total: "totalGeofences"))
                ]),
            APIOperation(
                id: "pivotalSyncGeofences", method: .get, path: "/v1/geofences",
                summary: "List the changes for a device",
                parameters: [
                    .query(
                        "timestamp", PivotalSchema.queried(.integer(Int64.min...Int64.max)),
                        "The `last_modified` of the last answer; 0 returns everything."),
                    .query(
                        "device_uuid", .text, "The device whose tags apply. If absent, all geofences are returned."),
                    .query("platform", .text, "Ignored: the key's platform applies."),
                ],
                answers: [APIAnswer(200, "What changed.", PivotalSchema.share)]),
        ]
        + under(["/v1/geofence", "/v1/geofences"]) { path, suffix in
            managed(
                path, "Geofence\(suffix)", "a geofence", PivotalSchema.geofence,
                PivotalGeofenceShapes.geofence.schema(PivotalShapes.describing),
                PivotalGeofenceShapes.geofence.change("PivotalGeofenceChange", PivotalShapes.describing))
        }

    static let locations =
        under(["/v1/locations", "/v1/location"]) { path, suffix in
            [list(path, "Locations\(suffix)", "locations", PivotalSchema.location, "totalLocations")]
                + managed(
                    path, "Location\(suffix)", "a location", PivotalSchema.location,
                    PivotalGeofenceShapes.location.schema(PivotalShapes.describing),
                    PivotalGeofenceShapes.location.change("PivotalLocationChange", PivotalShapes.describing))
        }
        + under(["/v1/location_groups", "/v1/location_group"]) { path, suffix in
            [
                list(
                    path, "LocationGroups\(suffix)", "location_groups", PivotalSchema.group,
                    "totalLocationGroups")
            ]
                + managed(
                    path, "LocationGroup\(suffix)", "a group of locations", PivotalSchema.group,
                    PivotalGeofenceShapes.group.schema(PivotalShapes.describing),
                    PivotalGeofenceShapes.group.change("PivotalLocationGroupChange", PivotalShapes.describing))
        }

    private static func list(
        _ path: String, _ id: String, _ name: String, _ item: Schema, _ total: String
    ) -> APIOperation {
        APIOperation(
            id: "pivotalList\(id)", method: .get, path: path, summary: "List them",
            parameters: PivotalSchema.geofencePage
                + [.query("q", .text, "A part of the name.")],
            answers: [APIAnswer(200, "A page.", PivotalSchema.paged(name, item, total: total))])
    }

    private static func managed(
        _ path: String, _ id: String, _ noun: String, _ item: Schema, _ new: Schema, _ change: Schema
    ) -> [APIOperation] {
        let answer = APIAnswer(200, "The current state.", item)
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
    static let geofencePage: [APIParameter] = [
        .query("page", queried(.integer(1...Int64(Int32.max))), "From 1."),
        .query("size", queried(.integer(1...Int64(Limits.listItemsMax))), "Maximum number of items."),
        .query(
            "timestamp", queried(.integer(Int64.min...Int64.max)),
            "Only items changed after this time, in milliseconds since 1970."),
    ]

    private static let changed: [Property] = [.required("created_at", .count), .required("updated_at", .count)]

    fileprivate static let location = Schema.component(
        "PivotalLocation",
        .object(
            [
                .required("id", .count), .required("name", .text), .required("lat", .text), .required("long", .text),
                .required("rad", .number),
            ] + changed))

    fileprivate static let group = Schema.component(
        "PivotalLocationGroup",
        .object(
            [
                .required("id", .count), .required("name", .text), .required("description", .text),
                .required("locations", .list(location)),
            ] + changed))

    fileprivate static let geofence = Schema.component(
        "PivotalGeofence",
        .object(
            [
                .required("id", .count), .required("tags", .list(.text)),
                .required(
                    "trigger_type",
                    .component("PivotalShownTrigger", .words(Geofence.Trigger.allCases.map(\.rawValue)))),
                .required("start_time", .count), .required("expiry_time", .count),
                .required(
                    "platform", .component("PivotalReach", .words(Geofence.Reach.allCases.map(\.rawValue)))),
                .required("locations", .list(location)), .required("data", .openObject),
                .optional("triggered", .count),
            ] + changed))

    static let share = Schema.component(
        "PivotalGeofenceShare",
        .object([
            .required("num", .count), .required("last_modified", .count),
            .required("geofences", .list(geofence)), .required("deleted_geofence_ids", .list(.count)),
        ]))
}
