internal import PealCore
internal import PealShapes

/// Composes webhooks of kind `events`: each ended message as the native API shows it, one event per request.
struct NativeReport: ReportComposer {
    let form = Webhook.Form(kind: "events", body: .event, naming: .standard)

    func reportsEnds(of dialect: DialectName) -> Bool { true }

    func report(_ facts: MessageFacts) -> JSON? { facts.report.nativeJSON }
}

extension MessageReport {
    /// The report in the native API's answers.
    var nativeJSON: JSON {
        let total = total
        let named = platforms.filter { $0.value.devices > 0 }.sorted { $0.key.rawValue < $1.key.rawValue }
        let reached: [(String, JSON)] = named.map { ($0.key.rawValue, .integer($0.value.devices)) }
        let counts: [(String, JSON)] = named.map { ($0.key.rawValue, $0.value.nativeJSON) }
        var members = facts
        members += [
            ("audience", ["devices": .integer(total.devices), "platforms": .object(JSON.Members(reached))]),
            ("empty", isEmpty ? true : nil), ("counts", total.nativeJSON), ("resent", .integer(total.resent)),
            ("by_platform", .object(JSON.Members(counts))), ("receipts", receiptsJSON),
            ("reasons", total.reasonsJSON), ("timings", timings),
            ("request", draft.map(NativeRequest.json)),
        ]
        return .compact(members)
    }

    /// What was known before it was sent.
    private var facts: [(String, JSON?)] {
        [
            ("id", .string(message.id.description)), ("state", .string(message.state.name)),
            ("dialect", .string(message.dialect.rawValue)), ("campaign_id", message.campaignID.map(JSON.string)),
            ("test", overview?.isTest == true ? true : nil), ("failure", message.failure.map(JSON.string)),
            ("title", overview.map { $0.title.map(JSON.string) ?? .null }),
            ("audience_summary", overview.map { .string($0.audience) }),
            ("created_at", .string(message.createdAt.description)),
            ("start_at", message.startAt.map { .string($0.description) }),
            ("expires_at", .string(message.expiresAt.description)),
        ]
    }

    private var timings: JSON {
        let sentAt = message.state == .sent ? message.endedAt : nil
        return [
            "first_sent_at": message.firstSentAt.map { .string($0.description) } ?? .null,
            "sent_at": sentAt.map { .string($0.description) } ?? .null,
        ]
    }

    /// How many devices reported that the message arrived, was displayed, opened and dismissed, and that its content
    /// was opened.
    private var receiptsJSON: JSON {
        let kinds: [(String, Receipt.Kind)] = [
            ("received", .received), ("shown", .shown), ("opened", .opened), ("dismissed", .dismissed),
            ("content_opened", .contentOpened),
        ]
        return .object(JSON.Members(kinds.map { ($0.0, .integer(receipts[$0.1] ?? 0)) }))
    }
}

extension OutcomeCounts {
    /// The six counts.
    var nativeJSON: JSON {
        [
            "accepted": .integer(accepted), "rejected": .integer(rejected), "retired": .integer(retired),
            "expired": .integer(expired), "suppressed": .integer(suppressed), "pending": .integer(pending),
        ]
    }

    /// How often the networks gave each reason.
    var reasonsJSON: JSON {
        .object(JSON.Members(reasons.sorted { $0.key < $1.key }.map { ($0.key, .integer($0.value)) }))
    }
}

/// The schemas of messages and their reports in answers.
enum NativeReportSchema {
    static let state = Schema.component("NativeMessageState", .words(Message.State.allCases.map(\.name)))

    private static let platforms = Schema.component("NativePlatformCounts", .map(.count))

    static let reach = Schema.component(
        "NativeReach", .object([.required("devices", .count), .required("platforms", platforms)]))

    static let accepted = Schema.component(
        "NativeAcceptedMessage",
        .object([
            .required("id", .uuid), .required("state", state), .required("audience_estimate", .count),
            .optional("empty", .flag), .required("request", request),
        ]))

    static let message = Schema.component(
        "NativeMessage",
        .object([
            .required("id", .uuid), .required("state", state),
            .required("dialect", NativeDocument.dialect),
            .optional("campaign_id", .text), .optional("test", .flag), .optional("failure", .text),
            .optional("title", Schema.text.orNull.described("Or the beginning of the text; one line.")),
            .optional("audience_summary", Schema.text.described("Who gets it; one line.")),
            .required("created_at", .time),
            .optional("start_at", .time), .required("expires_at", .time), .required("audience", reach),
            .optional("empty", Schema.flag.described("Set if it was sent and its audience had no device.")),
            .required("counts", counts), .required("resent", .count),
            .required("by_platform", .component("NativeCountsByPlatform", .map(counts))),
            .required(
                "receipts",
                .component(
                    "NativeReceipts",
                    .object(
                        ["received", "shown", "opened", "dismissed", "content_opened"].map { .required($0, .count) }))),
            .required("reasons", reasons),
            .required(
                "timings",
                .component(
                    "NativeTimings",
                    .object([
                        .required("first_sent_at", Schema.time.orNull), .required("sent_at", Schema.time.orNull),
                    ]))),
            .optional("request", request),
        ]))

    private static let request = Schema.component(
        "NativeMessageRequest",
        Schema.object([
            .optional("audience", .anything), .optional("content", .anything), .optional("options", .anything),
            .optional("schedule", .anything), .optional("method", .anything), .optional("campaign_id", .anything),
            .optional("test", .anything),
        ]).described("As it was given; for a message of another dialect, its translation."))

    private static let reasons = Schema.component("NativeReasons", .map(.count))

    private static let counts = Schema.component(
        "NativeCounts",
        .object(
            ["accepted", "rejected", "retired", "expired", "suppressed", "pending"].map { .required($0, .count) }))

    private static let previewRequest = Schema.component(
        "NativePreviewRequest",
        .object([
            .required("platform", NativeDocument.shownPlatform),
            .optional("environment", NativeDocument.shownEnvironment), .required("locale", Schema.text.orNull),
            .optional("arm", .words(Arm.allCases.map(\.name))), .optional("method", .word("POST")),
            .optional("path", .text),
            .optional("headers", .component("NativePreviewHeaders", .map(.text))), .optional("body", .anything),
            .optional("body_bytes", .count), .optional("size", payloadSize), .optional("warning", .text),
            .optional("error", NativeDocument.error),
        ]))

    private static let payloadSize = Schema.component(
        "NativePayloadSize",
        .object([
            .required("bytes", .count), .required("max", .count),
            .optional(
                "fields",
                .list(
                    .component("NativeFieldSize", .object([.required("field", .text), .required("bytes", .count)])))),
        ]))

    static let preview = Schema.component(
        "NativePreview",
        .object([
            .required("valid", .flag), .required("audience", reach), .required("requests", .list(previewRequest)),
        ]))

    private static let campaignMembers: [Property] =
        [.required("id", .text)]
        + ["messages", "audience", "accepted", "failed", "pending", "received", "opened", "content_opened"].map {
            .required($0, .count)
        } + [.required("reasons", reasons)]

    static let campaign = Schema.component("NativeCampaign", .object(campaignMembers))

    static let campaignDetail = Schema.component(
        "NativeCampaignDetail",
        .object(
            campaignMembers + [
                .optional("experiment", NativeExperiment.schema), .optional("model", NativeModel.schema),
            ]))
}
