internal import PealCore

/// Reads a task into a message. The message's id is the `task_id` in the answer, in payloads and in the report.
struct RichieReader {
    let limits: APIOptions

    /// - Parameter name: the app's name in the request.
    /// - Returns: the message, and warnings about what is accepted although it is unusual.
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

/// The target of a task: the devices of its topics and of its users, each once.
struct RichieTarget {
    /// The topic that means every device.
    private static let everybody = "all_users"

    /// As sent, for the report; nil if the task has none.
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
