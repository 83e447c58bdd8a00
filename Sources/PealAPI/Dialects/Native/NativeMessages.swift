internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Messages: send, validate without sending, show, list, change before they start, cancel, pause and resume.
struct NativeMessages: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.post, "\(app)/messages", .app(.send), Self.naming(send)),
            Endpoint(.post, "\(app)/messages:validate", .app(.send), Self.naming(validate)),
            Endpoint(.post, "\(app)/audience:count", .app(.read), Self.naming(count)),
            Endpoint(.get, "\(app)/messages", .app(.read), list),
            Endpoint(.get, "\(app)/messages/:id", .app(.read), get),
            Endpoint(.patch, "\(app)/messages/:id", .app(.send), Self.naming(change)),
            Endpoint(.post, "\(app)/messages/:id/cancel", .app(.send), cancel),
            Endpoint(.post, "\(app)/messages/:id/pause", .app(.send), pause),
            Endpoint(.post, "\(app)/messages/:id/resume", .app(.send), resume),
        ]
    }

    /// The store resolves segments, and names the fields of a condition from the condition on.
    private static func naming(_ handler: @escaping Endpoint.Handler) -> Endpoint.Handler {
        { call in
            do {
                return try await handler(call)
            } catch let error as PealError where error.field?.hasPrefix(Condition.fieldName) == true {
                throw error.under("audience")
            }
        }
    }

    /// - Parameter records: the app's credentials.
    private func reader(_ app: App, _ records: [CredentialRecord]) -> NativeMessageReader {
        NativeMessageReader(
            app, records, rules: services.addressRules, providers: services.providers,
            lifeSecondsMax: services.options.messageLifeSeconds)
    }

    private func draft(
        _ call: Call, _ facts: SendingFacts, id: MessageID
    ) throws(PealError) -> MessageDraft {
        let json = try call.object()
        let app = try call.app()
        return try reader(app, facts.credentials).draft(of: json, facts, id: id, now: call.now)
    }

    private func send(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let facts = try await services.sendingFacts(app, for: call.caller)
        let draft = try draft(call, facts, id: services.newMessageID(at: call.now))
        try await Self.check(draft, app, facts, services.verbs.preview)
        let reply = try await services.verbs.messages.send(draft, call.verb) { accepted in
            Reply(
                status: 202,
                .compact([
                    ("id", .string(accepted.id.description)), ("state", .string(accepted.state.name)),
                    ("audience_estimate", .integer(accepted.audienceEstimate)),
                    ("empty", accepted.state == .sent ? true : nil), ("request", NativeRequest.json(draft)),
                ]))
        }
        return Answer(reply)
    }

    /// Renders the message. Many locales take too long for the event loop of a connection.
    private static func check(
        _ draft: MessageDraft, _ app: App, _ facts: SendingFacts, _ preview: MessagePreview
    ) async throws(PealError) {
        guard draft.content.locales.count > Limits.localesRenderedBrieflyMax else {
            return try preview.check(draft, app: app, facts.credentials, spelling: NativeSpelling.path)
        }
        try await withTaskExecutorPreference(globalConcurrentExecutor) { () async throws(PealError) in
            try await checkElsewhere(draft, app, facts, preview)
        }
    }

    /// Runs on the executor that its caller prefers.
    private static func checkElsewhere(
        _ draft: MessageDraft, _ app: App, _ facts: SendingFacts, _ preview: MessagePreview
    ) async throws(PealError) {
        try preview.check(draft, app: app, facts.credentials, spelling: NativeSpelling.path)
    }

    private func validate(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let facts = try await services.sendingFacts(app, for: call.caller)
        // This message is not stored, so its id may be another message's.
        let draft = try draft(call, facts, id: services.randomness.timeOrderedIdentifier(at: call.now))
        let requests = services.verbs.preview.requests(draft, app: app, facts.credentials)
        // Counting reads the whole audience, so it must not hold the writer.
        let counts = try await services.store.read(.heavy) { store in
            let environment = draft.audienceEnvironment
            guard draft.window == nil else {
                return try store.momentAudience(app: draft.app, draft.audience, environment: environment)
            }
            return try store.audienceCount(
                app: draft.app, draft.audience, environment: environment, now: call.now)
        }
        var measured = 0
        let shown = requests.filter { $0.counts || $0.isPossible }.map { request in
            var fields: [MessagePreview.FieldSize] = []
            if !request.isPossible, measured < Limits.measuredRequestsMax {
                measured += 1
                fields = services.verbs.preview.fields(of: request, draft, app: app, facts.credentials)
            }
            return request.nativeJSON(fields, requestID: call.requestID)
        }
        let isValid = requests.allSatisfy { $0.isPossible || !$0.counts }
        return try await services.answer(
            ["valid": .bool(isValid), "audience": Self.json(counts), "requests": .array(shown)], keptFor: call)
    }

    /// The exact number of devices, without a message.
    private func count(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let given = try call.body(NativeMessageShapes.audienceOnly.shape, .native)
        let audience = try reader(app, try await services.sendingFacts(app, for: call.caller).credentials).audience(
            given, nil)
        let counts = try await services.store.read(.heavy) { store in
            try store.audienceCount(app: app.key, audience, environment: nil, now: call.now)
        }
        return try await services.answer(Self.json(counts), keptFor: call)
    }

    private static func json(_ counts: [Platform: Int]) -> JSON {
        let named = counts.sorted { $0.key.rawValue < $1.key.rawValue }
        return [
            "devices": .integer(counts.values.reduce(0, +)),
            "platforms": .object(JSON.Members(named.map { ($0.key.rawValue, .integer($0.value)) })),
        ]
    }

    private func get(_ call: Call) async throws -> Answer {
        let (id, app) = try Self.target(call)
        let report = try await services.store.read { try MessageVerbs.report(id, app: app, in: $0) }
        return Answer(.ok, report.nativeJSON)
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .id)
        let filter = try Self.filter(call.query, now: call.now)
        let app = try call.app().key
        let (reports, isComplete) = try await services.store.checkedList(.heavy) { store, more in
            try store.messages(app: app, filter, before: list.id(), limit: list.fetchCount + more).map { message in
                var report = try store.report(of: message)
                report.overview = try store.overview(app: app, id: message.id)
                return report
            }
        }
        return list.answer(reports, isComplete: isComplete, cursor: \.message.id.bytes, json: \.nativeJSON)
    }

    private static func filter(_ query: Query, now: Timestamp) throws(PealError) -> MessageFilter {
        var filter = MessageFilter(campaignID: query["campaign_id"])
        if let name = query["state"] {
            guard let state = Message.State(name: name) else {
                let names = Message.State.allCases.map(\.name).joined(separator: ", ")
                throw .invalid("state", "state must be one of \(names)")
            }
            filter.state = state
        }
        if let name = query["dialect"] {
            guard keyKindNames.contains(name) else {
                throw .invalid("dialect", "dialect must be one of \(keyKindNames.joined(separator: ", "))")
            }
            filter.dialect = DialectName(rawValue: name)
        }
        let span = try NativeSpan(query)
        (filter.from, filter.to) = (span.from, span.to)
        filter.text = try query.given("text").map { text throws(PealError) in
            try Shape.text().value(of: text, named: "text")
        }
        return filter
    }

    private func change(_ call: Call) async throws -> Answer {
        let json = try call.object()
        let app = try call.app()
        let facts = try await services.sendingFacts(app, for: call.caller)
        let reader = reader(app, facts.credentials)
        let report = try await services.verbs.messages.change(
            try call.id("id", of: "message"), app: app.key, call.verb,
            onlyRate: try NativeMessageShapes.rateAlone(json, now: call.now)
        ) { [preview = services.verbs.preview] draft throws(PealError) in
            var given = NativeMessageDraft()
            try NativeMessageShapes.parts.apply(json, to: &given, .native, now: call.now)
            let former = NativeRequest.audience(of: draft, now: call.now)
            try reader.apply(given, former: former, to: &draft, now: call.now)
            draft.content.namesMessage = facts.namesMessages
            NativeRequest.apply(json, to: &draft)
            try await Self.check(draft, app, facts, preview)
        }
        return Answer(.ok, report.nativeJSON)
    }

    private func cancel(_ call: Call) async throws -> Answer {
        let (id, app) = try Self.target(call)
        return Answer(try await services.verbs.messages.cancel(id, app: app, call.verb, reply: Self.reply))
    }

    private func pause(_ call: Call) async throws -> Answer {
        let (id, app) = try Self.target(call)
        return Answer(try await services.verbs.messages.pause(id, app: app, call.verb, reply: Self.reply))
    }

    private func resume(_ call: Call) async throws -> Answer {
        let (id, app) = try Self.target(call)
        return Answer(try await services.verbs.messages.resume(id, app: app, call.verb, reply: Self.reply))
    }

    private static func target(_ call: Call) throws(PealError) -> (MessageID, AppKey) {
        (try call.id("id", of: "message"), try call.app().key)
    }

    @Sendable private static func reply(_ report: MessageReport) -> Reply { Reply(status: 200, report.nativeJSON) }
}

extension MessagePreview.Request {
    /// The request in the answer of `messages:validate`, with `{address}` in place of the device's address.
    /// - Parameter fields: the sizes of the fields to show.
    func nativeJSON(_ fields: [MessagePreview.FieldSize], requestID: String) -> JSON {
        var members: [(String, JSON?)] = [
            ("platform", .string(platform.rawValue)),
            ("environment", route.provider?.hasEnvironments == true ? .string(route.environment.rawValue) : nil),
            ("locale", locale.map(JSON.string) ?? .null), ("arm", arm.map { .string($0.name) }),
        ]
        switch result {
        case .success(let notification):
            let body = notification.body.shown
            members += [
                // Every push network accepts notifications by POST.
                ("method", "POST"), ("path", .string(String(decoding: notification.path.shown, as: UTF8.self))),
                ("headers", .object(JSON.Members(notification.shownHeaders))),
                ("body", (try? JSONParser.parse(body)) ?? .string(String(decoding: body, as: UTF8.self))),
                ("body_bytes", .integer(notification.body.prefix.count + notification.body.suffix.count)),
                ("warning", notification.warning.map(JSON.string)),
            ]
        case .failure(let refusal):
            let error = refusal.error(spelling: NativeSpelling.path)
            members.append(("error", NativeEnvelope.json(error, requestID: requestID)))
        }
        members.append(("size", size.map { $0.nativeJSON(fields) }))
        return .compact(members)
    }
}

extension PayloadSize {
    fileprivate func nativeJSON(_ fields: [MessagePreview.FieldSize]) -> JSON {
        let listed = fields.map { field -> JSON in
            ["field": .string(NativeSpelling.path(of: field.field)), "bytes": .integer(field.bytes)]
        }
        return .compact([
            ("bytes", .integer(bytes)), ("max", .integer(max)), ("fields", listed.isEmpty ? nil : .array(listed)),
        ])
    }
}

private let placeholder = "{address}"

extension Notification {
    /// A warning about a notification that Peal accepts but that may not arrive unchanged.
    fileprivate var warning: String? {
        guard let bytesMax = route.provider?.network.delivery.bodyBytesAdvised, body.prefix.count > bytesMax else {
            return nil
        }
        return "push services that forward messages to a phone's own network may refuse or truncate more than "
            + "\(bytesMax) bytes"
    }

    fileprivate var shownHeaders: [(String, JSON)] {
        let own = headers.map { ($0.name, JSON.string($0.value)) }
        return own + (addressHeader.map { [($0, .string(placeholder))] } ?? [])
    }
}

extension Notification.Gapped {
    fileprivate var shown: [UInt8] { gap == .none ? prefix : prefix + Array(placeholder.utf8) + suffix }
}

extension NativeDocument {
    private static let message = "\(app)/messages/:id"
    private static let shown = APIAnswer(200, "The message.", NativeReportSchema.message)

    static func messages(_ describing: Describing) -> [APIOperation] {
        [
            APIOperation(
                id: "sendMessage", method: .post, path: "\(app)/messages", summary: "Send a message",
                text: "The message is on disk before the response is sent.",
                body: APIBody(schema: NativeMessageShapes.message.schema(describing), examples: [("topic", example)]),
                answers: [
                    APIAnswer(202, "The message is stored and will be sent.", NativeReportSchema.accepted)
                ], refusals: [.payloadTooLarge]),
            APIOperation(
                id: "validateMessage", method: .post, path: "\(app)/messages:validate",
                summary: "Check a message and show its provider requests", text: "Sends nothing.",
                body: APIBody(schema: NativeMessageShapes.message.schema(describing), examples: [("topic", example)]),
                answers: [APIAnswer(200, "The requests that would be sent.", NativeReportSchema.preview)]),
            APIOperation(
                id: "countAudience", method: .post, path: "\(app)/audience:count",
                summary: "Count the devices of an audience", text: "The number is exact at this instant.",
                body: APIBody(
                    schema: NativeMessageShapes.audienceOnly.schema(describing),
                    examples: [("where", ["audience": ["where": ["locale": "de"]]])]),
                answers: [APIAnswer(200, "The number of devices.", NativeReportSchema.reach)]),
            APIOperation(
                id: "listMessages", method: .get, path: "\(app)/messages", summary: "List messages, newest first",
                parameters: page(.id) + [
                    .query("state", NativeReportSchema.state, "Only messages in this state."),
                    .query("campaign_id", .text, "Only messages of this campaign."),
                    .query("dialect", dialect, "Only messages received in this dialect."),
                    .query("text", .text(1...Limits.nameCharactersMax), "A part of the title or the text."),
                ] + NativeSpan.parameters, answers: [list(of: "NativeMessage", NativeReportSchema.message)]),
            APIOperation(id: "getMessage", method: .get, path: message, summary: "Show a message", answers: [shown]),
            APIOperation(
                id: "changeMessage", method: .patch, path: message, summary: "Change a message that is still scheduled",
                text: "Each part that is given replaces the stored part as a whole.",
                body: APIBody(
                    schema: NativeMessageShapes.parts.change("NativeMessageChange", describing),
                    examples: [("options", ["options": ["priority": "low"]])]),
                answers: [shown], refusals: [.conflict, .payloadTooLarge]),
            state("cancel", "Cancel a message", "A cancelled message can be cancelled again."),
            state("pause", "Pause a message", nil), state("resume", "Resume a message", nil),
        ]
    }

    private static func state(_ verb: String, _ summary: String, _ text: String?) -> APIOperation {
        APIOperation(
            id: "\(verb)Message", method: .post, path: "\(message)/\(verb)", summary: summary, text: text,
            answers: [shown])
    }

    private static let example: JSON = [
        "audience": ["topics": ["news"]],
        "content": ["title": ["en": "Hello", "de": "Servus"], "body": "Fresh cheese"],
        "options": ["ttl_seconds": 3600],
    ]
}
