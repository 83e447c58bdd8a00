internal import PealCore

/// Who a task is for: devices of any of its topics and of its users, each once.
struct RichieTarget {
    /// The topic of everybody.
    private static let everybody = "all_users"

    /// As sent, for the report; nil where the task names none.
    let topics: [String]?
    let users: [String]?

    /// - Throws: `missing_field` when neither is given or both are empty.
    init(_ body: Tolerance, _ limits: APIOptions) throws(PealError) {
        topics = try body.names("topics", countMax: limits.richieTopicsMax, bytesMax: Limits.topicBytesMax)
        users = try body.names(
            "external_user_ids", countMax: limits.richieUsersMax, bytesMax: Limits.userIDBytesMax)
        guard topics != nil || users != nil else {
            throw PealError(.missingField, "topics or external_user_ids must name somebody", field: "topics")
        }
    }

    var audience: Audience {
        var audience = Audience()
        audience.includesAll = topics?.contains(Self.everybody) ?? false
        guard !audience.includesAll else { return audience }
        audience.topics = topics ?? []
        audience.users = users ?? []
        return audience
    }
}
