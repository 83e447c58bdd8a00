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
        let content = try RichieContent(body, taskID: id.description, allowsHTTP: app.settings.richie.allowHTTPLinks)
        var audience = target.audience
        audience.platforms = Set(content.content.platforms.keys)
        let options = MessageOptions()
        let draft = MessageDraft(
            id: id, app: app.key, dialect: .richie, audience: audience, content: content.content, options: options,
            createdAt: now,
            expiresAt: Lifetime.end(options, content.content, start: now, lifeSecondsMax: limits.messageLifeSeconds),
            source: RichieReport.part(appID: name, target: target, payloads: content.reported).bytes)
        return (draft, content.warnings)
    }
}
