internal import PealCore
internal import PealShapes

/// A task as it was given: who it is for, and what each platform is sent. The message's id is the `task_id` in the
/// answer, in payloads and in the report.
struct RichieTask: Sendable {
    /// The topic of everybody.
    private static let everybody = "all_users"

    var appID = ""
    /// As sent, for the report; nil where the task names none.
    var topics: [String]?
    var users: [String]?
    var payloads = RichiePayloads()

    /// - Returns: the message, and what is odd about the task without being refused.
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

    /// Devices of any of the topics and of the users, each once.
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

/// The iOS payload: keys may stand beside `aps`.
struct RichieApplePayload: Sendable {
    var object = RichieObject()
    var aps: RichieObject?

    var hasBody: Bool { object.hasBody || aps?.hasBody ?? false }
}

/// One object of a payload, with the documented keys and with the app's own, which pass as they are.
struct RichieObject: Sendable {
    static let link = "external-browser-url"
    static let page = "issue-page"
    static let item = "publisher-item-id"
    /// What the system shows.
    private static let shown = ["title", "body"]
    static let texts = shown + [item, "issue-guid", "issue-title", "issue-product-tag", "tab-id"]

    /// Checked, in the order in which they were sent.
    var members = JSON.Members()
    var alert: RichieAlert?
    var isContentAvailable: Bool?
    var links: [Located<String>] = []

    var hasBody: Bool {
        if members["body"] != nil { return true }
        switch alert {
        case nil: return false
        case .text: return true
        case .keys(let keys): return keys.value.members["body"] != nil
        }
    }

    /// The members without documented ones that are null or "". Title and body become texts, which is what systems
    /// show; everything else stays as it was written.
    static func passedOn(_ given: JSON.Members) -> JSON.Members {
        var members = given
        for name in texts + [link, page] {
            guard let value = members[name], value.isNull || value == .string("") else { continue }
            members[name] = nil
        }
        for name in shown { members[name] = members[name].flatMap(Tolerance.plainText).map(JSON.string) }
        return members
    }
}

/// An alert: the body alone, or an object of keys.
indirect enum RichieAlert: Sendable {
    case text(String)
    case keys(Located<RichieObject>)
}
