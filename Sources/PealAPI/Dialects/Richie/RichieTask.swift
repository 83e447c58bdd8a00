internal import PealCore

/// Reads a task into a message. The message's id is the `task_id` in the answer, in payloads and in the report.
struct RichieReader {
    let limits: APIOptions

    /// - Parameter name: the app's name in the request.
    /// - Returns: the message, and what is odd about the task without being refused.
    func draft(
        _ body: Tolerance, id: MessageID, app: App, name: String, now: Timestamp
    ) throws(PealError) -> (draft: MessageDraft, warnings: [String]) {
        let target = try RichieTarget(body, limits)
        let content = try RichieContent(
            body, taskID: id.description, allowsHTTP: app.settings[RichieSettings.allowHTTPLinks])
        var audience = target.audience
        audience.platforms = Set(content.content.platforms.keys)
        let options = MessageOptions()
        let draft = MessageDraft(
            id: id, app: app.key, dialect: .richie, audience: audience, content: content.content, options: options,
            createdAt: now,
            expiresAt: MessageLife(
                options, content.content, start: now, secondsMax: limits.messageLifeSeconds
            ).end,
            source: RichieReport.part(appID: name, target: target, payloads: content.reported).bytes)
        return (draft, content.warnings)
    }
}

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
