internal import PealCore

/// `segment`: the named conditions of an app.
enum SegmentTable {
    static let columns: Columns = "name, condition, created_at, changed_at"

    static func segment(_ row: inout RowReader) throws -> Segment {
        Segment(
            name: try row.next(), condition: try ConditionCoding.decode(row.next()), createdAt: try row.next(),
            changedAt: try row.next())
    }

    static func find(_ name: String, app: AppKey) -> SQL {
        "SELECT \(columns) FROM segment WHERE app = \(app) AND name = \(name)"
    }

    static func list(app: AppKey, after cursor: String, limit: Int) -> SQL {
        "SELECT \(columns) FROM segment WHERE app = \(app) AND name > \(cursor) ORDER BY name LIMIT \(limit)"
    }
}

extension StoreSession {
    func segment(app: AppKey, name: String) throws -> Segment? {
        try connection.first(SegmentTable.find(name, app: app), SegmentTable.segment)
    }

    func segments(app: AppKey, after cursor: String?, limit: Int) throws -> [Segment] {
        try connection.all(SegmentTable.list(app: app, after: cursor ?? "", limit: limit), SegmentTable.segment)
    }

    func putSegment(_ segment: Segment, app: AppKey) throws -> (segment: Segment, isNew: Bool) {
        var segment = segment
        let known = try self.segment(app: app, name: segment.name)
        if let known {
            segment.createdAt = known.createdAt
        } else {
            let count = try connection.count("SELECT COUNT(*) FROM segment WHERE app = \(app)")
            guard count < Limits.segmentsPerAppMax else {
                throw PealError(.conflict, "an app may have at most \(Limits.segmentsPerAppMax) segments")
            }
        }
        try connection.post(
            """
            INSERT INTO segment \(row: [
                "app": app, "name": segment.name, "condition": ConditionCoding.encode(segment.condition),
                "created_at": segment.createdAt, "changed_at": segment.changedAt,
            ])
            ON CONFLICT (app, name) DO UPDATE SET condition = excluded.condition, changed_at = excluded.changed_at
            """)
        return (segment, known == nil)
    }

    func deleteSegment(app: AppKey, name: String) throws -> Bool {
        try connection.execute("DELETE FROM segment WHERE app = \(app) AND name = \(name)") == 1
    }

    /// The condition without segments.
    /// - Throws: `invalid_field` for a segment that does not exist.
    func resolved(_ condition: Condition, app: AppKey) throws -> Condition {
        var resolution = SegmentResolution { try segment(app: app, name: $0)?.condition }
        return try resolution.resolve(condition, at: Condition.fieldName)
    }
}

/// A condition as compact JSON.
enum ConditionCoding {
    static func encode(_ condition: Condition) -> [UInt8] { condition.json.bytes }

    static func decode(_ bytes: [UInt8]) throws -> Condition {
        guard let json = try? JSONParser.parse(bytes, depthMax: Limits.conditionDepthResolvedMax * 4, isStored: true),
            let condition = Condition(stored: json)
        else { throw PealError.damaged("a condition") }
        return condition
    }
}
