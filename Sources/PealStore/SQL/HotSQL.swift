/// The statements that run for every page, slice or look-up of an audience. A test reads the plan of each: they must
/// go by their index and sort nothing.
enum HotSQL {
    static let slicePlace = "app = $1 AND message = $2 AND route = $3 AND window_no = $4 AND part = $5"

    static let sliceColumns = """
        message, window_no, part, attempt, key_from, key_to, keys, cursor, pages, estimate, counts, term, lane, rank
        """

    static let lease = """
        WITH pick AS MATERIALIZED (
            SELECT message, window_no, part FROM slice WHERE app = $1 AND route = $2 AND state = 1
            ORDER BY lane, rank LIMIT $3 {lock})
        UPDATE slice SET state = 2, owner = $4, term = term + 1, lease_until = $5
        WHERE app = $1 AND route = $2
            AND (message, window_no, part) IN (SELECT message, window_no, part FROM pick)
        RETURNING \(sliceColumns)
        """

    static let extendLease = """
        UPDATE slice SET lease_until = $8 WHERE \(slicePlace) AND state = 2 AND owner = $6 AND term = $7
        """

    /// A paused message's slice that is given back is held.
    static let settle = """
        UPDATE slice SET cursor = $9, pages = pages + $10, counts = $11, estimate = estimate - $12, lease_until = $13,
            ready_at = $15, state = CASE WHEN $14 IN (0, 1) AND (
                SELECT message.state FROM message WHERE message.app = $1 AND message.message = $2
                ) = 4 THEN 3 ELSE $14 END
        WHERE \(slicePlace) AND state = 2 AND owner = $6 AND term = $7 AND cursor = $8
        """

    static let insertPage = """
        INSERT INTO delivery_page (app, message, route, window_no, part, page, first_key, last_key, n, sent_at, took,
            data)
        SELECT app, message, route, window_no, part, pages - 1, $8, $9, $10, $11, $12, $13 FROM slice
        WHERE \(slicePlace) AND term = $6 AND cursor = $7
        ON CONFLICT DO NOTHING
        """

    /// A part of the slice at `slicePlace` as a slice of its own.
    static let insertPart = """
        INSERT INTO slice (app, message, route, window_no, part, state, lane, rank, ready_at, attempt, key_from, key_to,
            keys, cursor, pages, estimate, counts, owner, term, lease_until)
        SELECT app, message, route, window_no, $8, CASE WHEN $9 IN (0, 1) AND (
                SELECT message.state FROM message WHERE message.app = $1 AND message.message = $2
            ) = 4 THEN 3 ELSE $9 END,
            lane, rank, $10, $11, $12, $13, $14, $15, 0, $16, $17, $18, $19, $20 FROM slice
        WHERE \(slicePlace) AND term = $6 AND cursor = $7
        ON CONFLICT DO NOTHING
        """

    static let retire = """
        UPDATE device SET state = 0, retired_at = $5, retired_reason = $6
        WHERE app = $1 AND seq = $2 AND address_rev = $3 AND registered_at <= $4 AND state = 1 AND route = $7
        """

    static let leaveStreams = """
        DELETE FROM topic_member WHERE app = $1 AND seq = $2 AND route = $3
            AND topic IN (SELECT topic FROM device_topic WHERE app = $1 AND seq = $2)
        """

    static let firstSent = """
        UPDATE message SET first_sent_at = $3 WHERE app = $1 AND message = $2 AND first_sent_at IS NULL
        """

    static let closeSlices = """
        UPDATE message SET slices_open = slices_open + $3 WHERE app = $1 AND message = $2 RETURNING slices_open
        """

    static let allStream = """
        SELECT seq FROM device WHERE app = $1 AND route = $2 AND seq BETWEEN $3 AND $4 AND state = 1 AND since <= $5
        """

    static let plainDevices = """
        SELECT seq FROM device WHERE app = $1 AND route = $2 AND seq BETWEEN $3 AND $4 AND state = 1
            AND interactive = 0
        """

    static let topicStream = """
        SELECT seq FROM topic_member WHERE app = $1 AND topic = $5 AND route = $2 AND seq BETWEEN $3 AND $4
            AND since <= $6
        """

    static let topicMembers = """
        SELECT seq FROM topic_member WHERE app = $1 AND topic = $5 AND route = $2 AND seq BETWEEN $3 AND $4
        """

    /// State and route are judged by the reader: named here, they would draw the statement to an index and from there
    /// to the table row by row.
    static let pageScan = """
        SELECT seq, address, address_rev, locale, state, route FROM device
        WHERE app = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq
        """

    static let pagePoint = """
        SELECT seq, address, address_rev, locale FROM device
        WHERE app = $1 AND seq = $3 AND state = 1 AND route = $2
        """

    static let pageAddresses = """
        SELECT n, address FROM message_address WHERE app = $1 AND message = $2 AND route = $3 AND n BETWEEN $4 AND $5
        ORDER BY n
        """

    static let nextReadyRoute = """
        SELECT app, route FROM slice WHERE state = 1 AND (app, route) > ($1, $2) ORDER BY app, route LIMIT 1
        """

    static let dueSlices = """
        SELECT app, message, route, window_no, part FROM slice WHERE state = 0 AND ready_at <= $1
        ORDER BY ready_at LIMIT $2
        """

    static let nextSliceDue = "SELECT ready_at FROM slice WHERE state = 0 ORDER BY ready_at LIMIT 1"
    static let nextMessageDue = """
        SELECT start_at FROM message WHERE state = 1 AND start_at IS NOT NULL ORDER BY start_at LIMIT 1
        """
    static let dueMessages = """
        SELECT app, message FROM message WHERE state = 1 AND start_at <= $1 ORDER BY start_at LIMIT $2
        """
    static let overPausedMessages = """
        SELECT app, message, first_sent_at FROM message WHERE state < 5 AND state = 4 AND expires_at <= $1
        LIMIT $2
        """
    static let planningMessages = "SELECT app, message FROM message WHERE state = 2 ORDER BY app, message LIMIT $1"

    static let deviceByID = "SELECT \(DeviceRow.columns) FROM device WHERE app = $1 AND id = $2"
    static let deviceByAddress = "SELECT \(DeviceRow.columns) FROM device WHERE app = $1 AND address_key = $2"

    static let findDevice = "SELECT seq, route FROM device WHERE app = $1 AND id = $2 AND state = 1"
    static let findUser = "SELECT seq, route FROM device WHERE app = $1 AND user_id = $2 AND state = 1"
    static let findIdentifier = """
        SELECT d.seq, d.route FROM device_identifier i JOIN device d ON d.app = i.app AND d.seq = i.seq
        WHERE i.app = $1 AND i.kind = $2 AND i.value = $3 AND d.state = 1
        """
    static let findAddress = "SELECT seq, route FROM device WHERE app = $1 AND address_key = $2 AND state = 1"

    static let routeSample = """
        SELECT COUNT(*), MIN(seq), MAX(seq) FROM (
            SELECT seq FROM device WHERE app = $1 AND route = $2 AND state = 1 ORDER BY seq LIMIT $3) sample
        """
    static let routeLast = """
        SELECT seq FROM device WHERE app = $1 AND route = $2 AND state = 1 ORDER BY seq DESC LIMIT 1
        """
    static let topicSample = """
        SELECT COUNT(*), MIN(seq), MAX(seq) FROM (
            SELECT seq FROM topic_member WHERE app = $1 AND route = $2 AND topic = $4 ORDER BY seq LIMIT $3) sample
        """
    static let topicLast = """
        SELECT seq FROM topic_member WHERE app = $1 AND route = $2 AND topic = $3 ORDER BY seq DESC LIMIT 1
        """

    /// Every statement by name.
    static let all: KeyValuePairs<String, String> = [
        "lease": lease, "extendLease": extendLease, "settle": settle, "insertPage": insertPage,
        "insertPart": insertPart, "retire": retire, "leaveStreams": leaveStreams, "firstSent": firstSent,
        "closeSlices": closeSlices, "allStream": allStream, "plainDevices": plainDevices, "topicStream": topicStream,
        "topicMembers": topicMembers, "pageScan": pageScan, "pagePoint": pagePoint, "pageAddresses": pageAddresses,
        "nextReadyRoute": nextReadyRoute, "dueSlices": dueSlices, "nextSliceDue": nextSliceDue,
        "nextMessageDue": nextMessageDue, "dueMessages": dueMessages, "planningMessages": planningMessages,
        "overPausedMessages": overPausedMessages,
        "deviceByID": deviceByID, "deviceByAddress": deviceByAddress, "findDevice": findDevice, "findUser": findUser,
        "findAddress": findAddress, "findIdentifier": findIdentifier, "routeSample": routeSample,
        "routeLast": routeLast, "topicSample": topicSample,
        "topicLast": topicLast,
    ]
}
