internal import PealCore

/// A page in the console's frame: navigation on the side, one heading, one main landmark.
struct Page: Sendable {
    let call: PageCall
    /// The heading, and the title of the window.
    let title: String
    var current = Section.none
    /// Links from the app down to this page's parent.
    var trail: [(title: String, path: String)] = []
    /// Next to the heading: the most important actions.
    var actions = HTML.empty
    var lead: HTML?
    var scripts: [String] = []
    var body = HTML.empty

    init(_ call: PageCall, _ title: String, _ current: Section = .none) {
        self.call = call
        self.title = title
        self.current = current
    }

    enum Section: Sendable {
        case none, home, overview, compose, messages, calendar, campaigns, devices, topics, segments, importing
        case webhooks, keys, credentials, audit, operations
    }

    func answer(_ status: Int = 200) -> ConsoleAnswer {
        ConsoleAnswer(status, page: html)
    }

    private var html: HTML {
        let texts = call.texts
        return PageFrame.document(
            texts, title: windowTitle, scripts: ["console.js"] + scripts,
            """
            <a class="skip" href="#main">\(texts[.skipToContent])</a>
            <div class="shell" data-holder="\(call.holder?.actor.id ?? "")">
            \(Navigation(call: call, current: current).html)
            <main id="main" tabindex="-1">
            \(HTML.when(!trail.isEmpty, breadcrumbs))
            <header class="top"><h1>\(title)</h1>\(HTML.when(actions != .empty, "<div class=\"actions\">\(actions)</div>"))</header>
            \(HTML.with(lead) { "<p class=\"lead\">\($0)</p>" })
            \(notice)
            \(HTML.when(call.hasOmissions, "<p class=\"notice warn\" role=\"status\">\(texts[.listsIncomplete])</p>"))
            \(body)
            </main>
            </div>
            """)
    }

    /// The heading and the app. An app's overview is headed by the app's name.
    private var windowTitle: String {
        guard let app = call.named, current != .overview else { return title }
        return "\(title) · \(app.name)"
    }

    private var breadcrumbs: HTML {
        """
        <nav class="crumbs" aria-label="\(call.texts[.breadcrumbs])"><ol>
        \(HTML.each(trail) { "<li><a href=\"\($0.path)\">\($0.title)</a></li>" })
        </ol></nav>
        """
    }

    /// The result of the last form, after its redirect.
    private var notice: HTML {
        guard let name = call.query["done"], let word = Word.notice(name) else { return .empty }
        return "<p class=\"notice good\" role=\"status\">\(call.texts[word])</p>"
    }
}

/// The document around every page.
enum PageFrame {
    static func document(_ texts: Texts, title: String, scripts: [String] = [], _ body: HTML) -> HTML {
        """
        <!doctype html>
        <html lang="\(texts.language.rawValue)">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="robots" content="noindex">
        <title>\(title) · Peal</title>
        <link rel="icon" href="\(ConsoleAssets.path("icon.svg"))" type="image/svg+xml">
        <link rel="stylesheet" href="\(ConsoleAssets.path("console.css"))">
        \(HTML.each(scripts, script))
        </head>
        <body>
        \(body)
        </body>
        </html>

        """
    }

    /// A page appears when its common script has run: viewers do not see times change from UTC, and cannot press a
    /// button before the script that keeps forms. Browsers that do not know `blocking` ignore it.
    private static func script(_ name: String) -> HTML {
        let blocking = HTML.when(name == "console.js", " blocking=\"render\"")
        return "<script type=\"module\"\(blocking) src=\"\(ConsoleAssets.path(name))\"></script>\n"
    }

    static let logo: HTML = """
        <svg class="logo" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path fill="currentColor" d="M12 \
        2.5a1.6 1.6 0 0 1 1.6 1.6v.5a6 6 0 0 1 4.4 5.8v3.3l1.7 2.9a1 1 0 0 1-.9 1.5H5.2a1 1 0 0 1-.9-1.5L6 13.7v-3.3a6 6 0 \
        0 1 4.4-5.8v-.5A1.6 1.6 0 0 1 12 2.5ZM9.4 19.6h5.2a2.6 2.6 0 0 1-5.2 0Z"/></svg>
        """
}

/// The pages that the visitor may open.
private struct Navigation {
    let call: PageCall
    let current: Page.Section

    private struct Item {
        let section: Page.Section
        let word: Word
        let path: String
    }

    var html: HTML {
        let texts = call.texts
        return """
            <header class="side">
            <details class="menu"><summary><span class="brand">\(PageFrame.logo)<span>Peal</span></span>\
            <span class="menu-label">\(texts[.menu])</span></summary>\(links)</details>
            <div class="side-wide"><a class="brand" href="/console/">\(PageFrame.logo)<span>Peal</span></a>\(links)</div>
            </header>
            """
    }

    private var links: HTML {
        let texts = call.texts
        return """
            <nav aria-label="\(texts[.pages])">
            \(HTML.with(call.named) { app in
                """
                <p class="app-name" title="\(app.id.description)">\(app.name)</p>
                \(group(nil, [.init(section: .overview, word: .overview, path: call.link())]))
                \(group(.messaging, messaging))
                \(group(.audience, people))
                \(group(.settings, settings))
                """
            })
            \(group(call.named == nil ? nil : .server, server))
            </nav>
            <div class="side-foot">
            <form method="post" action="/console/sign-out"><input type="hidden" name="csrf" value="\(call.formSecret)">\
            <button class="quiet">\(texts[.signOut])</button></form>
            \(HTML.when(!call.isAdmin, everywhere))
            </div>
            """
    }

    /// Admins find it on the page of operations.
    private var everywhere: HTML {
        call.button(
            call.texts[.signOutEverywhere], to: "/console/sign-out-everywhere", "quiet",
            confirm: call.texts[.signOutEverywhereConfirm])
    }

    private func group(_ title: Word?, _ items: [Item]) -> HTML {
        guard !items.isEmpty else { return .empty }
        let texts = call.texts
        return """
            \(HTML.with(title) { "<p class=\"group\">\(texts[$0])</p>" })
            <ul>\(HTML.each(items) { item in
                """
                <li><a href="\(item.path)"\(if: item.section == current, " aria-current=\"page\"")>\(texts[item.word])</a></li>
                """
            })</ul>
            """
    }

    private func items(_ all: [(Page.Section, Word, String, APIKey.Scope)]) -> [Item] {
        all.filter { call.may($0.3) }.map { Item(section: $0.0, word: $0.1, path: call.link($0.2)) }
    }

    private var messaging: [Item] {
        items([
            (.compose, .compose, "compose", .send), (.messages, .messages, "messages", .read),
            (.calendar, .calendar, "calendar", .read), (.campaigns, .campaigns, "campaigns", .read),
        ])
    }

    private var people: [Item] {
        items([
            (.devices, .devices, "devices", .read), (.topics, .topics, "topics", .read),
            (.segments, .segments, "segments", .read), (.importing, .importing, "import", .manage),
        ])
    }

    private var settings: [Item] {
        items([
            (.credentials, .credentials, "credentials", .manage), (.keys, .keys, "keys", .manage),
            (.webhooks, .webhooks, "webhooks", .manage), (.audit, .audit, "audit", .manage),
        ])
    }

    private var server: [Item] {
        let home = Item(section: .home, word: .apps, path: "/console/")
        return call.isAdmin
            ? [home, Item(section: .operations, word: .operations, path: "/console/operations")] : [home]
    }
}
