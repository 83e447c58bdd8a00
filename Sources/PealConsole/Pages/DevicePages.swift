internal import PealCore

/// Devices and users: search, one device with its timeline, one user, erase.
enum DevicePages {
    static let routes: [ConsoleRoute] = [
        .app(.get, "devices", .read, list),
        .app(.get, "devices/:id", .read, show),
        .app(.post, "devices/:id/delete", .devices, delete).confirming(.deleteDeviceConfirm),
        .app(.get, "users/:id", .read, user),
        .app(.post, "users/:id/erase", .devices, erase).confirming(.eraseUserConfirm),
    ]

    private static let itemsPerPage = 25
    /// How many users a search lists.
    private static let usersMax = 10
    private static let devicesOfUserMax = 50
    /// How many messages a timeline goes back.
    private static let timelineMessagesMax = 20
    private static let timelineEntriesMax = 60

    @Sendable private static func list(_ call: PageCall) async throws -> ConsoleAnswer {
        let texts = call.texts
        let search = call.query["search"]
        let (items, users, next, isCut) = try await found(call, search)
        if search != nil, items.count == 1, users.isEmpty, let only = items.first {
            return ConsoleAnswer(redirect: call.link("devices", only.id.description))
        }
        var page = Page(call, texts[.devices], .devices)
        let field = Field(
            name: "search", label: texts[.search], value: search ?? "", hint: texts[.searchHint],
            more: " spellcheck=\"false\" autocomplete=\"off\"")
        let isEmpty = items.isEmpty && users.isEmpty
        let app = try call.app.key
        let records = try await call.list { store, _ in try store.credentialRecords(app: app) }
        page.scripts = ["browser.js"]
        page.body = """
            <form class="filter" method="get" action="\(call.path)" role="search">\(field.html)\
            <button>\(texts[.show])</button></form>
            \(HTML.when(!users.isEmpty, """
                <section><h2>\(texts[.users])</h2><ul class="plain">\(HTML.each(users) { user in
                    "<li><a href=\"\(call.link("users", user))\">\(user)</a></li>"
                })</ul></section>
                """))
            \(isEmpty && search == nil
                ? call.empty(.noDevicesTitle, .noDevicesText, action: nextSteps(call)) : table(call, items))
            \(HTML.when(isCut, "<p class=\"hint\">\(texts[.moreFound])</p>"))\(call.pager(next: next))
            \(BrowserPages.section(call, records))
            """
        return page.answer()
    }

    /// How an app without devices gets some.
    private static func nextSteps(_ call: PageCall) -> HTML {
        guard call.may(.manage) else { return .empty }
        let key: HTML = """
            <a class="button" href="\(call.link("keys"))?kind=device#new">\(call.texts[.makeDeviceKey])</a>
            """
        return """
            <div class="actions">\(HTML.when(call.may(.devices), key))\
            <a class="button" href="\(call.link("import"))">\(call.texts[.importing])</a></div>
            """
    }

    /// By id, address or user, which are indexed; otherwise whatever contains the text, within a bounded search.
    private static func found(
        _ call: PageCall, _ search: String?
    ) async throws -> (devices: [Device], users: [String], next: String?, isCut: Bool) {
        let app = try call.app.key
        let after = call.query["after"].flatMap { Int64($0) } ?? 0
        guard let search else {
            let items = try await call.list(.heavy) { store, more in
                try store.devices(app: app, DeviceFilter(), after: after, limit: itemsPerPage + 1 + more)
            }
            let shown = Array(items.prefix(itemsPerPage))
            return (shown, [], items.count > itemsPerPage ? shown.last.map { String($0.key) } : nil, false)
        }
        let candidates = addresses(search, call.services.addressRules)
        return try await call.list(.heavy) { store, _ in
            let named = try DeviceID(search).flatMap { try store.device(app: app, id: $0) }
            if let named { return ([named], [], nil, false) }
            let owned = try store.devices(app: app, DeviceFilter(userID: search), after: 0, limit: itemsPerPage + 1)
            if !owned.isEmpty {
                let users = owned.count == 1 ? [] : [search]
                return (Array(owned.prefix(itemsPerPage)), users, nil, owned.count > itemsPerPage)
            }
            let addressed = try candidates.flatMap {
                try store.devices(app: app, DeviceFilter(address: $0), after: 0, limit: 2)
            }
            if !addressed.isEmpty { return (addressed, [], nil, false) }
            let routes = Route.allCases.filter { !$0.isBroadcast }
            let page = try store.devices(
                app: app, DeviceSearch(routes: routes, containing: search),
                PageNumber(number: 1, size: itemsPerPage), now: call.now)
            let users = try store.userIDs(app: app, containing: search, limit: usersMax + 1)
            let isCut = page.total > page.items.count || users.count > usersMax
            return (page.items, Array(users.prefix(usersMax)), nil, isCut)
        }
    }

    /// The addresses that pasted text may represent.
    static func addresses(_ text: String, _ rules: AddressRules) -> [Address] {
        Route.allCases.filter { !$0.isBroadcast }.compactMap { rules.address(text, on: $0) }
    }

    static func table(_ call: PageCall, _ items: [Device]) -> HTML {
        let texts = call.texts
        guard !items.isEmpty else { return "<p class=\"none\">\(texts[.nothingFound])</p>" }
        var table = ListTable(
            caption: texts[.devices],
            columns: [
                texts[.device], texts[.platform], texts[.user], texts[.topics], texts[.state], texts[.registered],
            ])
        table.rows = items.map { device in
            [
                """
                <a class="title\(if: name(device) == device.id.shortened, " short")" \
                href="\(call.link("devices", device.id.description))">\(name(device))</a>
                """,
                "\(texts.platform(device.platform))\(HTML.when(device.environment != .production, " <span class=\"tag\">\(device.environment.rawValue)</span>"))",
                userLink(call, device.userID), topicTags(call, device, max: 3), state(call, device),
                call.time(device.registeredAt),
            ]
        }
        return table.html
    }

    private static func name(_ device: Device) -> String {
        device.detail.alias ?? device.detail.model ?? device.id.shortened
    }

    private static func state(_ call: PageCall, _ device: Device) -> HTML {
        device.retirement == nil
            ? call.badge(call.texts[.deviceActive], "good") : call.badge(call.texts[.deviceRetired], "dim")
    }

    private static func userLink(_ call: PageCall, _ user: String?) -> HTML {
        user.map { "<a href=\"\(call.link("users", $0))\">\($0)</a>" } ?? "<span class=\"none\">–</span>"
    }

    private static func topicTags(_ call: PageCall, _ device: Device, max: Int) -> HTML {
        let topics = device.topics(at: call.now).sorted()
        guard !topics.isEmpty else { return "<span class=\"none\">–</span>" }
        let rest = topics.count - max
        return """
            \(topics.prefix(max).map { "<span class=\"tag\">\($0)</span> " as HTML })\
            \(HTML.when(rest > 0, "<span class=\"hint\">+\(call.texts.number(rest))</span>"))
            """
    }

    @Sendable private static func show(_ call: PageCall) async throws -> ConsoleAnswer {
        let (app, id): (AppKey, DeviceID) = (try call.app.key, try call.id("id", of: "device"))
        guard let device = try await call.services.store.read({ try $0.device(app: app, id: id) }) else {
            throw PealError.notFound("device")
        }
        let texts = call.texts
        var page = Page(call, name(device), .devices)
        page.trail = [(texts[.devices], call.link("devices"))]
        if call.may(.send) {
            let isStarred = try await Stars.devices(call).contains { $0.id == id }
            page.actions = call.button(
                texts[isStarred ? .unstar : .star], to: call.link("devices", id.description, "star"))
        }
        if call.may(.devices) {
            page.actions =
                page.actions
                + call.button(
                    texts[.deleteDevice], to: call.link("devices", id.description, "delete"), "danger",
                    confirm: texts[.deleteDeviceConfirm])
        }
        page.body = """
            <div class="columns narrow-left">
            <section><h2>\(texts[.details])</h2>\(facts(call, device))</section>
            <section><h2>\(texts[.timeline])</h2>\(try await timeline(call, of: id))</section>
            </div>
            """
        return page.answer()
    }

    private static func facts(_ call: PageCall, _ device: Device) -> HTML {
        let texts = call.texts
        var facts = FactList()
        facts.add("ID", "<code>\(device.id.description)</code>")
        facts.add(texts[.state], state(call, device))
        if let retirement = device.retirement {
            facts.add(texts[.reason], "\(call.time(retirement.at)) \(call.reason(retirement.reason))")
        }
        facts.add(texts[.platform], text: texts.platform(device.platform))
        if device.address.route.provider?.hasEnvironments == true {
            facts.add(texts[.environment], text: device.environment.rawValue)
        }
        facts.add(texts[.user], userLink(call, device.userID))
        facts.add(texts[.topics], topicTags(call, device, max: 50))
        facts.add(texts[.locale], text: device.locale)
        facts.add(texts[.timeZone], text: device.timeZone)
        facts.add(texts[.model], text: device.detail.model)
        facts.add(texts[.osVersion], text: device.detail.osVersion)
        facts.add(texts[.appVersion], text: device.detail.appVersion)
        facts.add(texts[.registered], call.time(device.registeredAt))
        facts.add(texts[.address], "<code class=\"long\">\(shownAddress(device))</code>")
        if !device.detail.attributes.isEmpty {
            facts.add(texts[.attributes], "<pre>\(JSON.object(device.detail.attributes).text)</pre>")
        }
        return facts.html
    }

    /// The part of the address that suffices to recognize it: the complete address and the app's credential would allow
    /// sending to the device.
    private static func shownAddress(_ device: Device) -> String {
        let text = device.address.json.stringValue ?? device.address.json["endpoint"]?.stringValue ?? ""
        return text.count > 24 ? "\(text.prefix(16))…\(text.suffix(6))" : text
    }

    /// What happened to one device, message by message, newest first.
    private static func timeline(_ call: PageCall, of id: DeviceID) async throws -> HTML {
        let page = try await call.services.verbs.trail.timeline(
            of: id, app: try call.app.key, from: position(call.query["after"]), limit: timelineEntriesMax,
            now: call.now)
        var groups: [(message: MessageID, title: String, events: [DeliveryTrail.Event])] = []
        for entry in page.entries {
            if groups.last?.message != entry.message { groups.append((entry.message, entry.title ?? "", [])) }
            groups[groups.count - 1].events.insert(entry.event, at: 0)
        }
        return timeline(
            call, groups.map { entry(call, $0.message, $0.title, $0.events.first?.at, $0.events) },
            next: page.next.map { "\($0.message):\($0.index)" })
    }

    private static func position(_ text: String?) -> DeliveryTrail.Position? {
        let halves = (text ?? "").split(separator: ":")
        guard halves.count == 2, let message = MessageID(halves[0]), let index = Int(halves[1]), index >= 0 else {
            return nil
        }
        return .init(message: message, index: index)
    }

    private static func timeline(_ call: PageCall, _ entries: [HTML], next: String?) -> HTML {
        let list: HTML =
            entries.isEmpty
            ? "<p class=\"none\">\(call.texts[.noTimeline])</p>" : "<ol class=\"timeline\">\(entries)</ol>"
        return "\(list)\(call.pager(next: next))"
    }

    /// The latest messages on their way to a user's devices, newest first.
    private static func timeline(_ call: PageCall, ofUser user: String) async throws -> HTML {
        let trail = call.services.verbs.trail
        let messages = try await MessagePages.summaries(
            call, MessageFilter(), before: call.query["after"].flatMap { MessageID($0) }, limit: timelineMessagesMax)
        let app = try call.app.key
        var entries: [HTML] = []
        for item in messages {
            do {
                let events = try await trail.events(of: item.message.id, app: app, .user(user), now: call.now)
                guard events.contains(where: { $0.name != .notMatched }) else { continue }
                entries.append(entry(call, item.message.id, item.title, item.message.createdAt, events))
            } catch let error as PealError where error.code == .notFound {
                // The message was deleted meanwhile, or the user has no device.
                continue
            }
        }
        let next = messages.count >= timelineMessagesMax ? messages.last?.message.id.description : nil
        return timeline(call, entries, next: next)
    }

    private static func entry(
        _ call: PageCall, _ message: MessageID, _ title: String, _ at: Timestamp?, _ events: [DeliveryTrail.Event]
    ) -> HTML {
        // If the user has several devices, each line names its device.
        let namesDevices = Set(events.compactMap(\.device)).count > 1
        let texts = call.texts
        let title = title.isEmpty ? texts[.untitled] : title
        return """
            <li><div class="row"><a class="title" href="\(call.link("messages", message.description))">\(title)</a>\
            \(call.time(at))</div>
            <ol class="events">\(HTML.each(events.filter { $0.name != .notMatched }) { event in
                """
                <li><span><i class="dot \(event.name.tone)"></i>\(texts.event(event.name)) \
                \(HTML.when(!event.detail.isEmpty, "<span class=\"detail\">\(call.detail(event))</span>"))\
                \(HTML.when(namesDevices, HTML.with(event.device) { call.shortLink($0) }))</span> \(call.time(event.at))</li>
                """
            })</ol></li>
            """
    }

    @Sendable private static func delete(_ call: PageCall) async throws -> ConsoleAnswer {
        let id: DeviceID = try call.id("id", of: "device")
        try await call.services.verbs.devices.delete(id, app: try call.app.key, call.verb)
        return ConsoleAnswer(redirect: call.link("devices") + "?done=deleted")
    }

    @Sendable private static func user(_ call: PageCall) async throws -> ConsoleAnswer {
        let texts = call.texts
        let user = call.parameter("id")
        let app = try call.app.key
        let devices = try await call.list(.heavy) { store, more in
            try store.devices(app: app, DeviceFilter(userID: user), after: 0, limit: devicesOfUserMax + 1 + more)
        }
        let shown = Array(devices.prefix(devicesOfUserMax))
        guard !devices.isEmpty else { throw PealError.notFound("user") }
        var page = Page(call, user, .devices)
        page.trail = [(texts[.devices], call.link("devices"))]
        if call.may(.devices) {
            page.actions = call.button(
                texts[.eraseUser], to: call.link("users", user, "erase"), "danger", confirm: texts[.eraseUserConfirm])
        }
        let atLeast = shown.count < devices.count ? "> " : ""
        page.lead = "\(atLeast)\(texts.devices(shown.count))"
        page.body = """
            \(table(call, shown))
            <section><h2>\(texts[.timeline])</h2>\(try await timeline(call, ofUser: user))</section>
            """
        return page.answer()
    }

    @Sendable private static func erase(_ call: PageCall) async throws -> ConsoleAnswer {
        _ = try await call.services.verbs.devices.deleteUser(call.parameter("id"), app: try call.app.key, call.verb)
        return ConsoleAnswer(redirect: call.link("devices") + "?done=erased")
    }
}

extension DeliveryTrail.Event.Name {
    /// The class of its dot.
    var tone: String {
        switch self {
        case .accepted, .received, .shown, .opened, .contentOpened: "good"
        case .rejected, .retired, .quarantined: "bad"
        case .deferred, .held, .pending: "wait"
        case .matched, .sent, .healed: "live"
        case .expired, .suppressed, .notMatched, .leftOut, .dismissed: "dim"
        }
    }

    /// Whether its detail is the reason of an outcome. Otherwise, it is a name that people chose, or a sentence.
    var hasReason: Bool {
        switch self {
        case .deferred, .rejected, .retired, .expired, .suppressed, .healed: true
        case .matched, .held, .sent, .accepted, .pending, .received, .opened, .shown, .dismissed, .contentOpened,
            .notMatched, .quarantined, .leftOut:
            false
        }
    }
}

extension Texts {
    func event(_ name: DeliveryTrail.Event.Name) -> String {
        switch name {
        case .matched: self[.eventMatched]
        case .held: self[.eventHeld]
        case .sent: self[.eventSent]
        case .deferred: self[.eventDeferred]
        case .accepted: self[.accepted]
        case .rejected: self[.rejected]
        case .retired: self[.retired]
        case .expired: self[.expired]
        case .suppressed: self[.suppressed]
        case .pending: self[.pending]
        case .received: self[.received]
        case .opened: self[.opened]
        case .shown: self[.displayed]
        case .dismissed: self[.dismissed]
        case .contentOpened: self[.contentOpened]
        case .notMatched: self[.eventNotMatched]
        case .healed: self[.eventHealed]
        case .quarantined: self[.eventQuarantined]
        case .leftOut: self[.eventLeftOut]
        }
    }
}

/// Starred devices of an app: those that test messages go to.
enum Stars {
    static let routes: [ConsoleRoute] = [
        .app(.post, "devices/:id/star", .send) { call in
            let id: DeviceID = try call.id("id", of: "device")
            try await toggle(call, id)
            return ConsoleAnswer(redirect: call.link("devices", id.description))
        }
    ]

    static func devices(_ call: PageCall) async throws -> [Device] {
        let app = try call.app.key
        return try await call.list { store, _ in try store.starredDevices(app: app) }
    }

    /// Stars the device, or removes the star.
    /// - Throws: `not_found`; `conflict` beyond `Limits.starredDevicesMax`.
    private static func toggle(_ call: PageCall, _ id: DeviceID) async throws {
        let (app, now) = (try call.app.key, call.now)
        try await call.services.store.write(.control) { store in
            guard let device = try store.device(app: app, id: id) else { throw PealError.notFound("device") }
            let starred = try store.starredDevices(app: app)
            if starred.contains(where: { $0.key == device.key }) {
                return try store.unstar(app: app, device: device.key)
            }
            guard starred.count < Limits.starredDevicesMax else {
                throw PealError(.conflict, "at most \(Limits.starredDevicesMax) devices can be starred")
            }
            try store.star(app: app, device: device.key, now: now)
        }
    }
}
