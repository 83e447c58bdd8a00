internal import PealCore

/// One method of one page: who may request it, and its handler.
struct ConsoleRoute: Sendable {
    enum Need: Sendable, Equatable {
        case anonymous
        case session
        case admin
        /// The app in the path, with that scope; nil for any.
        case scope(APIKey.Scope?)
    }

    enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
    }

    let method: Method
    /// Segments below `/console/`; `:name` matches any one segment.
    let path: [String]
    /// The path, for the log and for metrics.
    var pattern: String { path.joined(separator: "/") }
    let need: Need
    let handler: @Sendable (PageCall) async throws -> ConsoleAnswer
    /// Whether it ends the session, so that its cookie must not be renewed.
    var endsSession = false
    /// What the visitor must confirm first.
    private(set) var question: Word?
    private(set) var redraw: Redraw?

    /// Answers with the page of a form, which contains what was typed, except secrets, and why it was refused.
    typealias Redraw = @Sendable (PageCall, _ refusal: PealError?) async throws -> ConsoleAnswer

    init(
        _ method: Method, _ path: String, _ need: Need,
        _ handler: @escaping @Sendable (PageCall) async throws -> ConsoleAnswer
    ) {
        self.method = method
        self.path = path.split(separator: "/").map(String.init)
        self.need = need
        self.handler = handler
    }

    /// A page below `/console/apps/{app}/`.
    static func app(
        _ method: Method, _ path: String, _ scope: APIKey.Scope?,
        _ handler: @escaping @Sendable (PageCall) async throws -> ConsoleAnswer
    ) -> ConsoleRoute {
        ConsoleRoute(method, "apps/:app/" + path, .scope(scope), handler)
    }

    /// This route with a confirmation: its handler receives only forms with the field `confirmed`, which the page's
    /// script adds after its own question.
    func confirming(_ question: Word) -> ConsoleRoute {
        var route = self
        route.question = question
        return route
    }

    /// This route with the page of its form. It answers instead of the handler if the page's script asks for it, or if
    /// the form is from an earlier session.
    func redrawing(_ redraw: @escaping Redraw) -> ConsoleRoute {
        var route = self
        route.redraw = redraw
        return route
    }

    /// The parameters of a path that fits; nil if it does not.
    fileprivate func parameters(of segments: [String]) -> [String: String]? {
        guard segments.count == path.count else { return nil }
        var parameters: [String: String] = [:]
        for (pattern, segment) in zip(path, segments) {
            if pattern.hasPrefix(":") {
                parameters[String(pattern.dropFirst())] = URLPath.name(segment)
            } else if pattern != segment {
                return nil
            }
        }
        return parameters
    }
}

/// Every page of the console.
struct ConsoleRoutes: Sendable {
    private let routes: [ConsoleRoute]
    /// The number of segments of the longest path.
    private let depthMax: Int

    private init(_ routes: [ConsoleRoute]) {
        self.routes = routes + Self.redirects(ofFormsIn: routes)
        depthMax = routes.map(\.path.count).max() ?? 0
    }

    static let all = ConsoleRoutes(
        SignInPages.routes + HomePage.routes + AppPage.routes + MessagePages.routes + MessageLive.routes
            + ComposePages.routes + DevicePages.routes + BrowserPages.routes + Stars.routes + TopicPages.routes
            + SegmentPages.routes + SavedMessagePages.routes + CampaignPages.routes + KeyPages.routes
            + CredentialPages.routes + WebhookPages.routes + AuditPage.routes + OperationsPage.routes
            + ImportPages.routes + ExportPages.routes)

    /// The result of a form may have a path without a page. A browser that reloads it is redirected to the nearest page
    /// above.
    private static func redirects(ofFormsIn routes: [ConsoleRoute]) -> [ConsoleRoute] {
        let pages = Set(routes.filter { $0.method == .get }.map(\.path))
        let forms = Set(routes.filter { $0.method == .post }.map(\.path)).subtracting(pages)
        return forms.map { path in
            let count = path.indices.last { pages.contains(Array(path.prefix($0))) } ?? 0
            return ConsoleRoute(.get, path.joined(separator: "/"), .anonymous) { call in
                let above = call.path.split(separator: "/").prefix(1 + count)
                return ConsoleAnswer(redirect: "/" + above.joined(separator: "/") + "/")
            }
        }
    }

    /// Literal segments precede parameters that would match them too.
    /// - Throws: `not_found`; `method_not_allowed`.
    func match(
        _ method: String, _ segments: [String]
    ) throws(PealError) -> (route: ConsoleRoute, parameters: [String: String]) {
        var isKnown = false
        for route in routes {
            guard let parameters = route.parameters(of: segments) else { continue }
            if route.method.rawValue == method { return (route, parameters) }
            isKnown = true
        }
        guard isKnown else { throw .notFound("page") }
        throw Self.notAllowed(method)
    }

    /// The page to return to after a refusal: that of a refused form, or the one above a page that does not exist.
    /// - Returns: its path; nil if only the console's home is left.
    func back(from refusal: PealError, _ method: String, _ target: String) -> String? {
        let isForm = method == "POST"
        guard isForm || refusal.code == .notFound, let segments = URLPath.segments(target.prefix { $0 != "?" })
        else { return nil }
        var path = Array((isForm ? segments.dropFirst() : segments.dropFirst().dropLast()).prefix(depthMax))
        while !path.isEmpty, (try? match("GET", path)) == nil { path.removeLast() }
        return path.isEmpty ? nil : "/console/" + path.map(PercentCoding.encode).joined(separator: "/")
    }

    static func notAllowed(_ method: String) -> PealError {
        PealError(.methodNotAllowed, "this page does not allow \(method)")
    }

    /// The methods of a path, for `Allow` (RFC 9110 §10.2.1).
    func allowed(_ target: String) -> String {
        let segments = Array((URLPath.segments(target.prefix { $0 != "?" }) ?? []).dropFirst())
        let found = routes.filter { $0.parameters(of: segments) != nil }.map(\.method.rawValue)
        let isPage = segments.first == "assets" || found.contains("GET")
        return ((isPage ? ["GET", "HEAD"] : []) + (found.contains("POST") ? ["POST"] : [])).joined(separator: ", ")
    }
}

/// Asks before an action that cannot be undone, for browsers without scripts.
enum ConfirmationPage {
    /// - Returns: a page with a form that sends the visitor's form again, confirmed.
    static func answer(_ call: PageCall, _ question: Word) -> ConsoleAnswer {
        let texts = call.texts
        var page = Page(call, texts[.confirmTitle])
        let kept = call.form.pairs.filter { $0.name != "csrf" }
        page.body = """
            <form method="post" action="\(call.path)" class="card narrow">\(call.formStart)\
            \(HTML.each(kept) { "<input type=\"hidden\" name=\"\($0.name)\" value=\"\($0.value)\">" })\
            <input type="hidden" name="confirmed" value="1"><p>\(texts[question])</p>
            <div class="actions end"><a class="button" href="\(call.path)">\(texts[.confirmNo])</a>\
            <button class="danger">\(texts[.confirmYes])</button></div></form>
            """
        return page.answer()
    }
}
