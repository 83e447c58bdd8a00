internal import PealCore

/// Counts audiences and draws what devices will show.
enum ComposeCheck {
    /// How many devices a message would reach; nil while no audience is named.
    /// - Parameter isExact: Reads the whole audience. Otherwise large audiences are estimated.
    static func count(
        _ call: PageCall, _ audience: Audience, _ environment: Environment?, isExact: Bool
    ) async throws -> Int? {
        guard !audience.isEmpty else { return nil }
        let app = try call.app.key
        if let condition = audience.condition {
            _ = try call.services.native.condition(condition.json, call.now)
        }
        return try await call.services.store.read(.heavy) { store in
            let estimate = try store.audienceEstimate(app: app, audience, environment: environment, now: call.now)
                .values.reduce(0, +)
            guard isExact || estimate < ReviewedCount.typedMin else { return estimate }
            return try store.audienceCount(app: app, audience, environment: environment, now: call.now)
                .values.reduce(0, +)
        }
    }

    /// - Throws: the first reason why no device could get the message.
    static func refuse(_ call: PageCall, _ draft: MessageDraft) async throws {
        let app = try call.app
        let records = try await call.list { store, _ in try store.credentialRecords(app: app.key) }
        do throws(ContentRefusal) {
            try call.services.verbs.preview.check(draft, app: app, records)
        } catch {
            guard let platform = error.field.platform?.rawValue else { throw error.error { $0.description } }
            throw PealError(error.code, "\(error.field): \(error.message)", field: platform)
        }
    }

    /// Cards for each platform: how it looks, and how large it is. The first platform has one for each translation, the
    /// others for the author's own language and for translations that they cannot show.
    static func previews(_ call: PageCall, _ draft: MessageDraft) async throws -> HTML {
        let app = try call.app
        let records = try await call.list { store, _ in try store.credentialRecords(app: app.key) }
        let requests = call.services.verbs.preview.requests(draft, app: app, records).filter {
            $0.counts || $0.isPossible
        }
        let hasOwn = requests.contains { $0.counts }
        let main = requests.first { ($0.counts || !hasOwn) && $0.isPossible }?.platform
        var (shown, hidden, seen): (HTML, HTML, Set<Platform>) = (.empty, .empty, [])
        for request in requests where seen.insert(request.platform).inserted {
            let isMain = request.platform == main
            let chosen = chosen(
                requests.filter { $0.platform == request.platform }, first: draft.content.defaultLocale, all: isMain)
            let cards = HTML.each(chosen) { request in
                let fields = call.services.verbs.preview.fields(of: request, draft, app: app, records)
                return card(call, draft, request, fields)
            }
            if request.counts || !hasOwn { shown = shown + cards } else { hidden = hidden + cards }
        }
        return """
            \(shown)
            \(HTML.when(hidden != .empty, "<details class=\"others\"><summary>\(call.texts[.otherPlatforms])</summary>\(hidden)</details>"))
            """
    }

    private static let translationsMax = 4

    /// - Parameter all: The largest translations; otherwise only those that fail.
    private static func chosen(
        _ requests: [MessagePreview.Request], first own: String?, all: Bool
    ) -> [MessagePreview.Request] {
        var seen: Set<String?> = []
        let locales = requests.filter { seen.insert($0.locale).inserted }
        guard let first = locales.first(where: { $0.locale == own }) ?? locales.first else { return [] }
        let rest = locales.filter { $0.locale != first.locale && (all || !$0.isPossible) }
        // Those that fail or nearly fail come first, because not all are shown.
        return [first] + rest.sorted { ($0.size?.bytes ?? .max) > ($1.size?.bytes ?? .max) }.prefix(translationsMax)
    }

    private static func card(
        _ call: PageCall, _ draft: MessageDraft, _ request: MessagePreview.Request,
        _ fields: [MessagePreview.FieldSize]
    ) -> HTML {
        let texts = call.texts
        let platform = request.platform
        let head: HTML = """
            <h3>\(texts.platform(platform))\(HTML.with(request.locale) { " <span class=\"tag\">\($0)</span>" })</h3>
            """
        switch request.result {
        case .failure(let refusal):
            return """
                <div class="preview">\(head)<p class="error"><code>\(refusal.field.description)</code> \(texts.translated(refusal.message))</p>\
                \(HTML.with(refusal.size) { meter(texts, $0, fields) })</div>
                """
        case .success(let notification):
            let body = String(decoding: notification.body.prefix + notification.body.suffix, as: UTF8.self)
            let shown = ShownNotification(body, draft.content, locale: request.locale)
            return """
                <div class="preview">\(head)
                <div class="phone \(platform.rawValue)"><p class="from">\(call.named?.name ?? "")<span>\(texts[.now])</span></p>\
                <p class="bold">\(shown.title)</p><p>\(shown.body)</p>\
                \(HTML.with(shown.image) { "<p class=\"image\">\(texts(.imageNamed, $0))</p>" })</div>
                \(HTML.with(notification.size) { meter(texts, $0, fields) })
                <details class="payload"><summary>\(texts[.payload])</summary><pre>\(body)</pre></details>
                </div>
                """
        }
    }

    /// How much of the network's maximum the payload takes, and what takes it.
    private static func meter(_ texts: Texts, _ size: PayloadSize, _ fields: [MessagePreview.FieldSize]) -> HTML {
        let (bytes, max) = (texts.number(size.bytes), texts.number(size.max))
        let isOver = size.excess > 0
        let line = isOver ? texts(.bytesOver, bytes, max, texts.number(size.excess)) : texts(.bytesOf, bytes, max)
        let rest = size.bytes - fields.reduce(0) { $0 + $1.bytes }
        let rows = fields.map { (name: $0.field.description as String?, bytes: $0.bytes) } + [(name: nil, bytes: rest)]
        return """
            <p class="meter"><span>\(line)</span>\
            <meter min="0" max="\(size.max)" high="\(size.max * 9 / 10)" value="\(min(size.bytes, size.max))" \
            \(if: isOver, "class=\"over\" ")aria-label="\(texts[.size])"></meter></p>
            <details class="fields"><summary>\(texts[.bytesByField])</summary><table>\
            <thead><tr><th scope="col">\(texts[.field])</th><th scope="col" class="number">\(texts[.bytes])</th></tr></thead>\
            <tbody>\(HTML.each(rows) { row in
                """
                <tr><th scope="row">\(HTML.with(row.name) { "<code>\($0)</code>" })\
                \(HTML.when(row.name == nil, "\(texts[.namesAndSettings])"))</th>\
                <td class="number">\(texts.number(row.bytes))</td></tr>
                """
            })</tbody></table></details>
            """
    }
}

/// What a device shows of a rendered notification: found in the payload itself, so that it is what will be sent.
struct ShownNotification: Sendable {
    let title: String
    let body: String
    /// The file name of its image, which the console does not load.
    let image: String?

    init(_ payload: String, _ content: Content, locale: String?) {
        let file = content.imageURL?.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").last.map(String.init)
        image = file.flatMap { payload.contains($0) ? $0 : nil }
        guard let json = try? JSONParser.parse(payload) else {
            // XML: its texts, in order.
            let texts = payload.split(separator: "<").compactMap { part -> String? in
                guard part.hasPrefix("text") || part.hasPrefix("wp:Text"), let end = part.firstIndex(of: ">") else {
                    return nil
                }
                let text = String(part[part.index(after: end)...])
                return text.isEmpty ? nil : Self.plain(text)
            }
            title = texts.first ?? content.shownTitle
            body = texts.dropFirst().joined(separator: " ")
            return
        }
        title = Self.text("title", in: json, depth: 0) ?? ""
        body = Self.text("body", in: json, depth: 0) ?? Self.text("alert", in: json, depth: 0) ?? ""
    }

    private static func text(_ name: String, in json: JSON, depth: Int) -> String? {
        guard depth < 6, let members = json.objectValue else { return nil }
        if let text = members[name]?.stringValue { return text }
        for (key, value) in members.pairs where key != "data" {
            if let text = text(name, in: value, depth: depth + 1) { return text }
        }
        return nil
    }

    private static func plain(_ text: String) -> String {
        text.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"")
            .replacing("&apos;", with: "'").replacing("&#39;", with: "'").replacing("&amp;", with: "&")
    }
}

/// The number of devices that a review showed. The review's form returns it, so that what the visitor typed is compared
/// with what was shown: the audience of a large app changes in between.
struct ReviewedCount: Sendable {
    /// Audiences of this size or larger require typing their number before sending.
    static let typedMin = 10_000
    /// A difference below this needs no second review.
    private static let differenceMin = 10

    let devices: Int

    /// Whether sending needs another review, and why.
    enum Answer: Sendable, Equatable {
        case send
        /// Another number was typed.
        case wrongNumber
        /// The audience has changed by more than one percent since the review.
        case changed
    }

    init(devices: Int) { self.devices = devices }

    /// Reads the field `counted`, such as `12000.<MAC>`.
    /// - Parameter identity: the message's: see `ComposeForm.identity`.
    /// - Returns: nil if the session has not reviewed this message with this number.
    init?(_ text: String?, of identity: String, _ sessions: Sessions, _ session: Session?) {
        let halves = (text ?? "").split(separator: ".").map(String.init)
        guard let session, halves.count == 2, let devices = Int(halves[0]) else { return nil }
        self.devices = devices
        guard ConstantTime.areEqual(field(of: identity, sessions, session), text ?? "") else { return nil }
    }

    /// The value of the field `counted`.
    func field(of identity: String, _ sessions: Sessions, _ session: Session) -> String {
        "\(devices).\(sessions.mark("console count\n\(devices)\n\(identity)", session))"
    }

    /// - Parameters:
    ///   - typed: what was typed, with any separators; ignored after the review of a small audience.
    ///   - present: the current number of devices.
    func answer(typed: String?, present: Int) -> Answer {
        guard devices < Self.typedMin || Int((typed ?? "").filter(\.isWholeNumber)) == devices else {
            return .wrongNumber
        }
        let difference = abs(present - devices)
        return difference < Self.differenceMin || difference * 100 <= devices ? .send : .changed
    }
}
