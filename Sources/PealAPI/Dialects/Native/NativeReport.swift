internal import PealCore

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
        let reasons: [(String, JSON)] = total.reasons.sorted { $0.key < $1.key }.map { ($0.key, .integer($0.value)) }
        var members = facts
        members += [
            ("audience", ["devices": .integer(total.devices), "platforms": .object(JSON.Members(reached))]),
            ("empty", isEmpty ? true : nil), ("counts", total.nativeJSON), ("resent", .integer(total.resent)),
            ("by_platform", .object(JSON.Members(counts))), ("receipts", receiptsJSON),
            ("reasons", .object(JSON.Members(reasons))), ("timings", timings),
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
}

extension MessageReport {
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
}
