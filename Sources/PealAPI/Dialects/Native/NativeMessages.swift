internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Messages: send, validate without sending, show, list, and change before they start.
struct NativeMessages: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.post, "\(app)/messages", .app(.send), send),
            Endpoint(.post, "\(app)/messages:validate", .app(.send), validate),
            Endpoint(.post, "\(app)/audience:count", .app(.read), count),
            Endpoint(.get, "\(app)/messages", .app(.read), list),
            Endpoint(.get, "\(app)/messages/:id", .app(.read), get),
            Endpoint(.patch, "\(app)/messages/:id", .app(.send), change),
        ]
    }

    /// - Parameter records: the app's credentials.
    private func reader(_ records: [CredentialRecord]) -> MessageReader {
        MessageReader(
            rules: services.addressRules,
            check: AddressCheck(providers: services.providers, keys: ApplicationServerKeys(records)),
            lifeSecondsMax: services.options.messageLifeSeconds)
    }

    private func draft(
        _ call: Call, _ records: [CredentialRecord], namesMessage: Bool
    ) throws(PealError) -> MessageDraft {
        let given = try call.body(NativeMessageShapes.message.shape)
        var draft = try reader(records).draft(
            given, id: services.newMessageID(at: call.now), app: try call.app().key, now: call.now)
        draft.content.namesMessage = namesMessage
        return draft
    }

    private func send(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let records = try await services.credentialRecords(app)
        let draft = try draft(call, records, namesMessage: try await services.namesMessages(app))
        try services.preview.check(draft, app: app, records, spelling: NativeSpelling.path)
        let reply = try await services.messages.send(draft, call.verb) { accepted in
            Reply(
                status: 202,
                [
                    "id": .string(accepted.id.description), "state": .string(accepted.state.name),
                    "audience_estimate": .integer(accepted.audienceEstimate),
                ])
        }
        return Answer(reply)
    }

    private func validate(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let records = try await services.credentialRecords(app)
        let draft = try draft(call, records, namesMessage: try await services.namesMessages(app))
        let requests = services.preview.requests(draft, app: app, records)
        // Counting reads the whole audience, so it must not hold the writer.
        let counts = try await services.store.read(.heavy) { store in
            guard draft.window == nil else {
                return try store.momentAudience(
                    app: draft.app, draft.audience, environment: draft.options.environment)
            }
            return try store.audienceCount(
                app: draft.app, draft.audience, environment: draft.options.environment, now: call.now)
        }
        let report = Self.json(counts, requests)
        guard call.idempotent != nil else { return Answer(.ok, report) }
        let kept = try await services.store.commit(
            .rest, call.verb, reply: { Reply(status: 200, report) }, change: { _ in })
        return Answer(kept.reply)
    }

    /// The exact number of devices, without a message.
    private func count(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let given = try call.body(NativeMessageShapes.audienceOnly.shape)
        let audience = try reader(try await services.credentialRecords(app)).audience(given, MessageOptions())
        let counts = try await services.store.read(.heavy) { store in
            try store.audienceCount(app: app.key, audience, environment: nil, now: call.now)
        }
        let report = Self.json(counts)
        guard call.idempotent != nil else { return Answer(.ok, report) }
        let kept = try await services.store.commit(
            .rest, call.verb, reply: { Reply(status: 200, report) }, change: { _ in })
        return Answer(kept.reply)
    }

    private static func json(_ counts: [Platform: Int]) -> JSON {
        let named = counts.sorted { $0.key.rawValue < $1.key.rawValue }
        return [
            "devices": .integer(counts.values.reduce(0, +)),
            "platforms": .object(JSON.Members(named.map { ($0.key.rawValue, .integer($0.value)) })),
        ]
    }

    /// Shows a request that cannot be built only if it makes the message invalid.
    private static func json(_ counts: [Platform: Int], _ requests: [MessagePreview.Request]) -> JSON {
        let shown = requests.filter { $0.counts || $0.isPossible }
        let isValid = shown.allSatisfy(\.isPossible)
        return [
            "valid": .bool(isValid), "audience": json(counts), "requests": .array(shown.map(\.nativeJSON)),
        ]
    }

    private func get(_ call: Call) async throws -> Answer {
        let (app, id): (AppKey, MessageID) = (try call.app().key, try call.id("id", of: "message"))
        guard let report = try await services.store.read({ try $0.report(app: app, id: id) }) else {
            throw PealError.notFound("message")
        }
        return Answer(.ok, report.nativeJSON)
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .id)
        let filter = try Self.filter(call.query)
        let app = try call.app().key
        let reports = try await services.store.read(.heavy) { store in
            try store.messages(app: app, filter, before: list.id(), limit: list.fetchCount).map { message in
                try store.report(app: app, id: message.id) ?? MessageReport(message: message, platforms: [:])
            }
        }
        return list.answer(reports, cursor: \.message.id.bytes, json: \.nativeJSON)
    }

    private static func filter(_ query: Query) throws(PealError) -> MessageFilter {
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
        return filter
    }

    private func change(_ call: Call) async throws -> Answer {
        let json = try call.object()
        let app = try call.app()
        let records = try await services.credentialRecords(app)
        let reader = reader(records)
        let namesMessage = try await services.namesMessages(app)
        let report = try await services.messages.change(
            try call.id("id", of: "message"), app: app.key, call.verb
        ) { [preview = services.preview] draft throws(PealError) in
            var given = NativeMessageDraft()
            try NativeMessageShapes.parts.apply(json, to: &given, .strict, now: call.now)
            try reader.apply(given, to: &draft, now: call.now)
            draft.content.namesMessage = namesMessage
            try preview.check(draft, app: app, records, spelling: NativeSpelling.path)
        }
        return Answer(.ok, report.nativeJSON)
    }
}

extension MessagePreview.Request {
    /// The request in the answer of `messages:validate`, with `{address}` in place of the device's address.
    var nativeJSON: JSON {
        var members: [(String, JSON?)] = [
            ("platform", .string(platform.rawValue)),
            ("environment", route.provider?.hasEnvironments == true ? .string(route.environment.rawValue) : nil),
            ("locale", locale.map(JSON.string) ?? .null),
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
            members.append(("error", NativeEnvelope.json(refusal.error(spelling: NativeSpelling.path))))
        }
        return .compact(members)
    }
}

private let placeholder = "{address}"

extension Notification {
    /// A warning about a notification that Peal accepts but that may not arrive unchanged.
    fileprivate var warning: String? {
        guard let bytesMax = route.provider?.network.delivery.bodyBytesAdvised, body.prefix.count > bytesMax else {
            return nil
        }
        return "push services that pass messages on to a phone's own network may refuse or cut more than "
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

/// Cancels, pauses and resumes messages.
struct NativeMessageStates: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        let path = "\(app)/messages/:id"
        return [
            Endpoint(.post, "\(path)/cancel", .app(.send)) { call in
                let (id, key) = try Self.target(call)
                return Answer(try await services.messages.cancel(id, app: key, call.verb, reply: Self.reply))
            },
            Endpoint(.post, "\(path)/pause", .app(.send)) { call in
                let (id, key) = try Self.target(call)
                return Answer(try await services.messages.pause(id, app: key, call.verb, reply: Self.reply))
            },
            Endpoint(.post, "\(path)/resume", .app(.send)) { call in
                let (id, key) = try Self.target(call)
                return Answer(try await services.messages.resume(id, app: key, call.verb, reply: Self.reply))
            },
        ]
    }

    private static func target(_ call: Call) throws(PealError) -> (MessageID, AppKey) {
        (try call.id("id", of: "message"), try call.app().key)
    }

    @Sendable private static func reply(_ report: MessageReport) -> Reply { Reply(status: 200, report.nativeJSON) }
}

/// The history of one delivery.
struct NativeDeliveries: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [Endpoint(.get, "\(app)/messages/:id/deliveries", .app(.read), list)]
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .number)
        let subject = try subject(call.query)
        let events = try await DeliveryTrail(store: services.store).events(
            of: try call.id("id", of: "message"), app: try call.app().key, subject)
        let fetched = Array(Array(events.enumerated()).dropFirst(Int(list.number ?? 0)).prefix(list.fetchCount))
        return list.answer(fetched, cursor: { NativeList.bytes($0.offset + 1) }, json: { Self.json($0.element) })
    }

    private static func json(_ event: DeliveryTrail.Event) -> JSON {
        [
            "device": event.device.map { .string($0.description) } ?? .null, "at": .string(event.at.description),
            "event": .string(event.name.rawValue), "detail": .string(event.detail),
        ]
    }

    private func subject(_ query: Query) throws(PealError) -> DeliveryTrail.Subject {
        let addresses = try AddressQuery(query, rules: services.addressRules)
        let given = ["device", "user", "address"].filter { query[$0] != nil }
        guard given.count < 2 else {
            throw .invalid(given[1], "give only one of device, user and address")
        }
        if let text = query["device"] {
            guard let id = DeviceID(text) else { throw .invalid("device", "device must be a UUID") }
            return .device(id)
        }
        if let user = query["user"] { return .user(user) }
        guard let address = query["address"] else {
            throw PealError(.missingField, "give one of device, user and address", field: "device")
        }
        return .addresses(try addresses.candidates(address))
    }
}
