/// Statements of listings by page number, each read by its index alone.
enum SearchSQL {
    static let routePage = """
        SELECT seq FROM device WHERE app = $1 AND route = $2 AND state = 1 ORDER BY seq LIMIT $3 OFFSET $4
        """
    static let routeAfter = """
        SELECT seq FROM device WHERE app = $1 AND route = $2 AND state = 1 AND seq > $3 ORDER BY seq LIMIT $4
        """
    static let topicPage = """
        SELECT seq FROM topic_member WHERE app = $1 AND topic = $5 AND route = $2 ORDER BY seq LIMIT $3 OFFSET $4
        """
    static let topicAfter = """
        SELECT seq FROM topic_member WHERE app = $1 AND topic = $5 AND route = $2 AND seq > $3 ORDER BY seq LIMIT $4
        """
    static let topicCount = "SELECT COUNT(*) FROM topic_member WHERE app = $1 AND topic = $2 AND route = $3"

    static let deviceByKey = "SELECT \(DeviceRow.columns) FROM device WHERE app = $1 AND seq = $2"

    /// `$2` to `$4`: now, whether those without an expiry count, whether those with one do.
    private static let livingTopics = """
        FROM topic WHERE app = $1 AND ((expires_at IS NULL AND $3 = 1) OR (expires_at > $2 AND $4 = 1))
        """
    static let topicsInAll = "SELECT COUNT(*) \(livingTopics)"
    static let topics = "SELECT topic, name, expires_at \(livingTopics) ORDER BY name LIMIT $5 OFFSET $6"
    static let topicByNumber = """
        SELECT topic, name, expires_at FROM topic
        WHERE app = $1 AND topic = $2 AND (expires_at IS NULL OR expires_at > $3)
        """

    static let users = """
        SELECT DISTINCT user_id FROM device WHERE app = $1 AND user_id IS NOT NULL AND state = 1
        ORDER BY user_id LIMIT $2
        """

    static let nextCampaign = """
        SELECT campaign_id FROM message WHERE app = $1 AND campaign_id > $2 ORDER BY campaign_id LIMIT 1
        """

    /// Every statement by name.
    static let all: KeyValuePairs<String, String> = [
        "search.routePage": routePage, "search.routeAfter": routeAfter, "search.topicPage": topicPage,
        "search.topicAfter": topicAfter, "search.topicCount": topicCount, "search.deviceByKey": deviceByKey,
        "search.topicsInAll": topicsInAll, "search.topics": topics, "search.topicByNumber": topicByNumber,
        "search.users": users, "search.nextCampaign": nextCampaign,
    ]
}
