internal import PealCore
internal import PealShapes

/// A task as received: its target and the payload for each platform. The message's id is the `task_id` in the answer,
/// in payloads and in the report.
struct RichieTask: Sendable {
    /// The topic that all users have.
    private static let everybody = "all_users"

    var appID = ""
    /// As received, for the report; nil if the task has no topics.
    var topics: [String]?
    var users: [String]?
    var payloads = RichiePayloads()

    /// - Returns: the message, and warnings about unusual but accepted values.
    func draft(
        id: MessageID, app: App, now: Timestamp, _ limits: APIOptions
    ) throws(PealError) -> (draft: MessageDraft, warnings: [String]) {
        let content = try RichieContent(
            payloads, taskID: id.description, allowsHTTP: app.settings[RichieSettings.allowHTTPLinks])
        var audience = audience
        audience.platforms = Set(content.content.platforms.keys)
        let options = MessageOptions()
        let draft = MessageDraft(
            id: id, app: app.key, dialect: .richie, audience: audience, content: content.content, options: options,
            createdAt: now,
            expiresAt: MessageLife(
                options, content.content, start: now, secondsMax: limits.messageLifeSeconds
            ).end,
            source: RichieReport.part(self, payloads: content.reported).bytes)
        return (draft, content.warnings)
    }

    /// Devices that have any of the topics or belong to any of the users, each once.
    private var audience: Audience {
        var audience = Audience()
        audience.includesAll = topics?.contains(Self.everybody) ?? false
        guard !audience.includesAll else { return audience }
        audience.topics = topics ?? []
        audience.users = users ?? []
        return audience
    }
}

/// The payloads of a task, at least one.
struct RichiePayloads: Sendable {
    /// The members of `data`.
    var android: Located<RichieObject>?
    var ios: Located<RichieApplePayload>?
}

/// The iOS payload, whose keys may also be next to `aps`.
struct RichieApplePayload: Sendable {
    var object = RichieObject()
    var aps: RichieObject?

    var hasBody: Bool { object.hasBody || aps?.hasBody ?? false }
}

/// One object of a payload: the documented keys, and the app's own members, which are passed on unchanged.
struct RichieObject: Sendable {
    static let link = "external-browser-url"
    static let page = "issue-page"
    static let item = "publisher-item-id"
    /// What the system shows.
    private static let shown = ["title", "body"]
    static let texts = shown + [item, "issue-guid", "issue-title", "issue-product-tag", "tab-id"]

    /// Checked members, in the order received.
    var members = JSON.Members()
    var alert: RichieAlert?
    var isContentAvailable: Bool?
    var badge: Int64?
    var links: [Located<String>] = []

    var hasBody: Bool {
        if members["body"] != nil { return true }
        switch alert {
        case nil: return false
        case .text: return true
        case .keys(let keys): return keys.value.members["body"] != nil
        }
    }

    /// The members without documented ones that are null or "". Title and body become strings, which systems require;
    /// all others stay unchanged.
    static func passedOn(_ given: JSON.Members) -> JSON.Members {
        var members = given
        for name in texts + [link, page] {
            guard let value = members[name], value.isNull || value == .string("") else { continue }
            members[name] = nil
        }
        for name in shown { members[name] = members[name].flatMap(\.scalarText).map(JSON.string) }
        return members
    }
}

/// An alert: only the body, or an object of keys.
indirect enum RichieAlert: Sendable {
    case text(String)
    case keys(Located<RichieObject>)
}
