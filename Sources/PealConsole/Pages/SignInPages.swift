internal import HTTPTypes
internal import PealCore

/// Sign in, sign out, sign out everywhere; and the error page.
enum SignInPages {
    static let routes: [ConsoleRoute] = [
        ConsoleRoute(.get, "sign-in", .anonymous, show),
        ConsoleRoute(.post, "sign-in", .anonymous, signIn).redrawing { call, refusal in
            page(
                call, next: call.form["next"], error: refusal.map(call.texts.message), link: call.form["link"])
        },
        signOut("sign-out", everywhere: false),
        signOut("sign-out-everywhere", everywhere: true).confirming(.signOutEverywhereConfirm),
    ]

    @Sendable private static func show(_ call: PageCall) async throws -> ConsoleAnswer {
        if let link = call.query["link"] { return page(call, next: call.query["next"], link: link) }
        guard call.session == nil else { return ConsoleAnswer(redirect: next(call.query)) }
        return page(call, next: call.query["next"])
    }

    /// A link signs in by a form, so that programs that only fetch links do not consume it.
    private static func signIn(_ call: PageCall, link: String) async throws -> ConsoleAnswer {
        let links = call.services.verbs.signInLinks
        if !call.client.listener.servesAdmins, let linked = try await links.look(at: link), linked.isOfAdmin {
            return page(call, next: call.form["next"], 403, error: call.texts[.adminsElsewhere])
        }
        guard let taken = try await links.take(link, now: call.now),
            let holder = try await call.console.sessions.holder(of: taken, links, now: call.now)
        else { return page(call, next: call.form["next"], 401, error: call.texts[.usedLink]) }
        return try await begin(call, holder)
    }

    private static func begin(_ call: PageCall, _ holder: Holder) async throws -> ConsoleAnswer {
        guard !holder.isAdmin || call.client.listener.servesAdmins else {
            return page(call, next: call.form["next"], 403, error: call.texts[.adminsElsewhere])
        }
        let id = Hex.encode(call.services.randomness.bytes(16))
        var answer = ConsoleAnswer(redirect: next(call.form))
        answer.setCookie(call.cookieHeader(try await call.console.sessions.begin(holder, id: id, now: call.now)))
        return answer
    }

    @Sendable private static func signIn(_ call: PageCall) async throws -> ConsoleAnswer {
        // The session of an open sign-in page is replaced.
        let services = call.services
        if let link = call.form["link"] { return try await signIn(call, link: link) }
        guard let secret = call.form["key"] else {
            return page(call, next: call.form["next"], 401, error: call.texts[.wrongKey])
        }
        do {
            let holder = try await services.authenticator.holder(of: secret, from: call.client, now: call.now)
            return try await begin(call, holder)
        } catch let refusal as PealError {
            switch refusal.code {
            case .unauthorized, .forbidden:
                return page(call, next: call.form["next"], 401, error: call.texts[.wrongKey])
            case .rateLimited:
                var answer = page(call, next: call.form["next"], 429, error: call.texts[.tooManyAttempts])
                answer.headers[.retryAfter] = String(refusal.retryAfterSeconds ?? 60)
                return answer
            case .invalidJSON, .invalidField, .missingField, .unknownField, .notSupported, .notFound, .methodNotAllowed,
                .conflict, .idempotencyMismatch, .bodyTooLarge, .payloadTooLarge, .unsupportedMediaType, .unavailable,
                .internal:
                throw refusal
            }
        }
    }

    /// Only pages of the console: a link must not redirect elsewhere after signing in.
    private static func next(_ form: Form) -> String {
        guard let path = form["next"], path.hasPrefix("/console/"), !path.contains("//"), !path.contains("\\"),
            path.utf8.allSatisfy({ (0x21..<0x7F).contains($0) })
        else { return "/console/" }
        return path
    }

    private static func signOut(_ path: String, everywhere: Bool) -> ConsoleRoute {
        var route = ConsoleRoute(.post, path, .session) { call in
            if let session = call.session {
                try await call.console.sessions.end(session, everywhere: everywhere, now: call.now)
            }
            var answer = ConsoleAnswer(redirect: "/console/sign-in")
            answer.setCookie(call.cookieHeader(""))
            return answer
        }
        route.endsSession = true
        return route
    }

    /// - Parameter link: instead of a key.
    private static func page(
        _ call: PageCall, next: String?, _ status: Int = 200, error: String? = nil, link: String? = nil
    ) -> ConsoleAnswer {
        let texts = call.texts
        let field = Field(
            name: "key", label: texts[.key], kind: .secret, hint: texts[.keyHint], error: error, isRequired: true,
            more: " autocomplete=\"current-password\" autofocus spellcheck=\"false\"")
        return ConsoleAnswer(
            status,
            page: PageFrame.document(
                texts, title: texts[.signIn], scripts: ["console.js"],
                """
                <div class="door"><main id="main">
                <p class="brand">\(PageFrame.logo)<span>Peal</span></p>
                <h1>\(texts[.signIn])</h1>
                \(HTML.when(call.query["ended"] != nil, "<p class=\"notice warn\" role=\"status\">\(texts[.sessionEnded])</p>"))
                <form method="post" action="/console/sign-in" class="card">
                \(call.formStart)
                \(HTML.with(next) { "<input type=\"hidden\" name=\"next\" value=\"\($0)\">" })
                \(HTML.with(link) { "<input type=\"hidden\" name=\"link\" value=\"\($0)\"><p>\(texts[.linkText])</p>" })\
                \(HTML.when(link != nil, HTML.with(error) { "<p class=\"notice bad\" role=\"alert\">\($0)</p>" }))\
                \(HTML.when(link == nil, field.html))
                <button class="primary wide">\(texts[.signIn])</button>
                </form>
                \(HTML.when(link == nil, "<p class=\"hint\">\(texts[.signInHelp])</p>"))
                </main></div>
                """))
    }
}

/// The page that is shown for an error.
enum RefusalPage {
    /// - Parameter back: the path of the page to return to; nil for the console's home.
    static func answer(_ refusal: PealError, _ texts: Texts, back: String?, requestID: String) -> ConsoleAnswer {
        let (title, text) = explanation(refusal, texts)
        var answer = ConsoleAnswer(
            refusal.code.httpStatus,
            page: PageFrame.document(
                texts, title: title, scripts: ["console.js"],
                """
                <div class="door"><main id="main">
                <p class="brand">\(PageFrame.logo)<span>Peal</span></p>
                <h1>\(title)</h1>
                <p class="lead">\(text)</p>
                <p class="actions">\(HTML.with(back) { "<a class=\"button primary\" href=\"\($0)\">\(texts[.back])</a>" })
                <a class="button" href="/console/">\(texts[.toTheConsole])</a></p>
                <p class="hint">\(refusal.code.httpStatus) · \(refusal.code.rawValue) · \(requestID)</p>
                </main></div>
                """))
        if let seconds = refusal.retryAfterSeconds { answer.headers[.retryAfter] = String(seconds) }
        return answer
    }

    private static func explanation(_ refusal: PealError, _ texts: Texts) -> (title: String, text: String) {
        switch refusal.code {
        case .notFound: (texts[.notFoundTitle], texts[.notFoundText])
        case .forbidden: (texts[.forbiddenTitle], texts.message(refusal))
        case .internal: (texts[.internalTitle], texts[.internalText])
        case .unavailable, .rateLimited: (texts[.busyTitle], texts.message(refusal))
        case .invalidJSON, .invalidField, .missingField, .unknownField, .notSupported, .unauthorized, .methodNotAllowed,
            .conflict, .idempotencyMismatch, .bodyTooLarge, .payloadTooLarge, .unsupportedMediaType:
            (texts[.refusedTitle], texts.message(refusal))
        }
    }
}

extension HTTPField.Name {
    static let retryAfter = named("Retry-After")
}
