internal import PealCore

/// `/console/`: the apps that the visitor may see, and what needs attention.
enum HomePage {
    static let routes: [ConsoleRoute] = [
        ConsoleRoute(.get, "", .session, show),
        ConsoleRoute(.get, "apps", .session) { _ in ConsoleAnswer(redirect: "/console/") },
        ConsoleRoute(.get, "new-app", .admin) { call in page(call, error: nil).answer() },
        ConsoleRoute(.post, "new-app", .admin, create).redrawing { call, refusal in
            page(call, error: refusal).answer()
        },
    ]

    private static let appsMax = 100
    /// How many credentials of each kind need attention at most.
    private static let credentialsShown = 20

    @Sendable private static func show(_ call: PageCall) async throws -> ConsoleAnswer {
        let own = call.holder?.app
        let isAdmin = call.isAdmin
        let after = call.query["after"].flatMap { AppID($0) }
        let (found, stopped, ending) = try await call.list { store, more in
            let apps =
                try own.map { try store.app(key: $0).map { [$0] } ?? [] }
                ?? store.apps(after: after, limit: appsMax + 1 + more)
            return (
                apps, isAdmin ? try store.stoppedCredentials(limit: credentialsShown + 1) : [],
                isAdmin ? try store.endingCredentials(limit: credentialsShown + 1) : []
            )
        }
        let apps = Array(found.prefix(appsMax))
        // A key has one app, whose page is its home page.
        if own != nil, let app = apps.first { return ConsoleAnswer(redirect: "/console/apps/\(app.id)/") }
        let texts = call.texts
        var page = Page(call, texts[.apps], .home)
        if apps.isEmpty, after == nil {
            page.body = call.empty(.noAppsTitle, .noAppsText, action: newAppLink(call))
            return page.answer()
        }
        page.actions = newAppLink(call)
        let figures = try await HomeFigures.read(call, apps)
        // Only the credentials of further apps are read.
        let isWhole = after == nil && found.count <= HomeFigures.appsMax
        let title =
            isWhole
            ? texts[.sentPerHourInAll] : texts(.sentPerHourInSome, texts.number(min(apps.count, HomeFigures.appsMax)))
        page.body = """
            \(Attention.list(call, attention(call, apps, stopped, ending) + figures.attention, isQuiet: !isWhole))
            \(figures.traffic.html(call, title: title))
            <section>\(figures.table(call, apps).html)
            \(HTML.when(apps.count > HomeFigures.appsMax, "<p class=\"hint\">\(texts(.figuresOfFirst, texts.number(HomeFigures.appsMax)))</p>"))</section>
            \(call.pager(next: found.count > appsMax ? apps.last?.id.description : nil))
            \(AppProblems.reasons(call, figures.outcomes, hint: texts(.failedByReasonHintDay, texts.number(HomeFigures.messagesMax))))
            """
        return page.answer()
    }

    private static func newAppLink(_ call: PageCall) -> HTML {
        "<a class=\"button primary\" href=\"/console/new-app\">\(call.texts[.newApp])</a>"
    }

    /// Credentials that were refused or expire soon.
    private static func attention(
        _ call: PageCall, _ apps: [App], _ stopped: [(app: AppID, record: CredentialRecord)],
        _ ending: [(app: AppID, record: CredentialRecord)]
    ) -> [HTML] {
        let names = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0.name) })
        let lists = [stopped, ending.filter { $0.record.expiryWarning(at: call.now) != nil }]
        let items = lists.flatMap { list in
            list.prefix(credentialsShown).map { app, record in
                Attention.item(call, record, app: names[app] ?? "\(app)", id: app)
            }
        }
        let isCut = lists.contains { $0.count > credentialsShown }
        return items + (isCut ? ["<li>\(call.texts[.moreCredentials])</li>"] : [])
    }

    private static func page(_ call: PageCall, error: PealError?) -> Page {
        let texts = call.texts
        var page = Page(call, texts[.newApp], .home)
        page.trail = [(texts[.apps], "/console/")]
        page.lead = "\(texts[.newAppLead])"
        let fields = [
            Field(
                name: "name", label: texts[.name], value: call.form["name"] ?? "",
                error: texts.message(error, at: "name"), isRequired: true,
                more: " maxlength=\"255\""),
            Field(
                name: "bundle_id", label: texts[.bundleID], value: call.form["bundle_id"] ?? "",
                hint: texts[.bundleIDHint], error: texts.message(error, at: "bundle_id"),
                more: " maxlength=\"255\" spellcheck=\"false\""),
        ]
        page.body = """
            \(call.problem(error))
            <form method="post" action="/console/new-app" class="card narrow" data-keep\(if: call.isPosted, " data-sent")>\
            \(call.formStart)\(fields.map(\.html))\
            <button class="primary">\(texts[.makeApp])</button></form>
            """
        return page
    }

    @Sendable private static func create(_ call: PageCall) async throws -> ConsoleAnswer {
        do {
            let name = try ConsoleText.checked(call.form["name"], named: "name", max: Limits.nameCharactersMax)
            let bundleID = try call.form["bundle_id"].map { text throws(PealError) in
                try ConsoleText.checked(text, named: "bundle_id", max: Limits.nameCharactersMax)
            }
            if let bundleID, !bundleID.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "._:-".utf8.contains($0) }) {
                throw PealError.invalid("bundle_id", "bundle_id may contain only letters, digits and . _ : -")
            }
            let app = App(
                id: call.services.randomness.identifier(), key: 0, name: name, bundleID: bundleID,
                createdAt: call.now)
            _ = try await call.services.verbs.apps.create(app, call.verb) { app in
                Reply(status: 201, ["id": .string(app.id.description)])
            }
            return ConsoleAnswer(redirect: "/console/apps/\(app.id)/credentials?done=app-made")
        } catch let error as PealError where error.field != nil {
            return page(call, error: error).answer(400)
        }
    }
}

/// What needs attention.
enum Attention {
    static func item(_ call: PageCall, _ record: CredentialRecord, app: String?, id: AppID) -> HTML {
        let label =
            [app, record.provider.network.title].compactMap(\.self).joined(separator: " · ")
            + (record.provider.hasEnvironments ? " \(record.environment.rawValue)" : "")
        let link = "/console/apps/\(id)/credentials"
        if case .stopped(let at, let reason) = record.health {
            return """
                <li><a href="\(link)">\(label)</a>: \(call.texts(.credentialRefused, reason)) \
                \(HTML.with(call.texts.advice(reason)) { "\($0) " })\(call.time(at))</li>
                """
        }
        return "<li><a href=\"\(link)\">\(label)</a>: \(call.texts.warning(record, at: call.now) ?? "")</li>"
    }

    /// - Parameter isQuiet: Says nothing if nothing needs attention.
    static func list(_ call: PageCall, _ items: [HTML], isQuiet: Bool = false) -> HTML {
        var items = items
        if call.services.verbs.isPaused { items.insert("<li>\(call.texts[.serverPaused])</li>", at: 0) }
        guard !items.isEmpty else {
            return HTML.when(
                !isQuiet, "<p class=\"hint\"><i class=\"dot good\"></i>\(call.texts[.nothingNeedsAttention])</p>")
        }
        return """
            <section class="notice warn"><h2>\(call.texts[.needsAttention])</h2><ul>\(items)</ul></section>
            """
    }
}
