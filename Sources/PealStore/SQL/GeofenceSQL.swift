/// The statements of geofences and receipts that run for devices or in every round of a service. A test reads the plan
/// of each.
enum GeofenceSQL {
    static let locationColumns = "location, name, latitude, longitude, radius, created_at, updated_at"

    /// A geofence's locations in their order.
    static let places = """
        SELECT \(qualified) FROM geofence_place p JOIN location l ON l.app = p.app AND l.location = p.location
        WHERE p.app = $1 AND p.geofence = $2 ORDER BY p.position
        """
    static let groupPlaces = """
        SELECT \(qualified) FROM location_group_place p JOIN location l ON l.app = p.app AND l.location = p.location
        WHERE p.app = $1 AND p.location_group = $2 ORDER BY p.position
        """
    private static let qualified = locationColumns.split(separator: ", ").map { "l.\($0)" }.joined(separator: ", ")

    static let geofenceColumns = """
        geofence, tags, trigger_type, starts_at, expires_at, reach, data, created_at, updated_at
        """
    static let geofences = "SELECT \(geofenceColumns) FROM geofence WHERE app = $1 ORDER BY geofence"
    static let tombstones = "SELECT geofence, deleted_at FROM geofence_tombstone WHERE app = $1"
    static let topicsJoined = """
        SELECT t.name, d.since FROM device_topic d JOIN topic t ON t.app = d.app AND t.topic = d.topic
        WHERE d.app = $1 AND d.seq = $2
        """

    static let insertReceipt = """
        INSERT INTO receipt (app, message, seq, kind, at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (app, message, seq, kind) DO NOTHING
        """
    static let addReceipts = """
        INSERT INTO receipt_count (app, message, kind, n) VALUES ($1, $2, $3, $4)
        ON CONFLICT (app, message, kind) DO UPDATE SET n = receipt_count.n + excluded.n
        """
    static let receiptsOfDevice = """
        SELECT kind, at FROM receipt WHERE app = $1 AND message = $2 AND seq = $3
        """
    static let topicsNamed = """
        SELECT app, topic FROM topic WHERE name = $1 AND (expires_at IS NULL OR expires_at > $2) ORDER BY app
        """
    static let firstMember = "SELECT seq FROM topic_member WHERE app = $1 AND topic = $2 LIMIT 1"
    static let pruneTombstones = """
        DELETE FROM geofence_tombstone WHERE (app, geofence) IN (
            SELECT app, geofence FROM geofence_tombstone WHERE told_until <= $1 LIMIT $2)
        """
    static let pruneTriggers = """
        DELETE FROM geofence_trigger WHERE (app, geofence, location, seq, at) IN (
            SELECT app, geofence, location, seq, at FROM geofence_trigger WHERE at <= $1 LIMIT $2)
        """
    static let pruneReceipts = """
        DELETE FROM receipt WHERE (app, message, seq, kind) IN (
            SELECT app, message, seq, kind FROM receipt WHERE app = $1 AND message = $2 LIMIT $3)
        """

    /// Every statement that looks something up, by name.
    static let all: KeyValuePairs<String, String> = [
        "geofence.places": places, "geofence.groupPlaces": groupPlaces, "geofence.geofences": geofences,
        "geofence.tombstones": tombstones, "geofence.topicsJoined": topicsJoined,
        "receipt.ofDevice": receiptsOfDevice,
        "topic.named": topicsNamed, "topic.firstMember": firstMember, "geofence.pruneTombstones": pruneTombstones,
        "geofence.pruneTriggers": pruneTriggers, "receipt.prune": pruneReceipts,
    ]
}
