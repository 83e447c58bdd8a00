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
                    .query("device_uuid", .text, "Whose tags count; without it all are told."),
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
