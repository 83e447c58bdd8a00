internal import HTTPTypes
internal import PealCore
internal import Synchronization

/// One request to a page, as handlers receive it: who requests what, in which language.
struct PageCall: Sendable {
    let console: Console
    let texts: Texts
    let now: Timestamp
    let client: ConsoleClient
    let requestID: String
    let isSecure: Bool
    /// The path of the page, without the query.
    let path: String
    let parameters: [String: String]
    let query: Form
    var form = Form()
    /// Why `form` must only be shown again, without any effect; nil if it may take effect.
    var refusal: PealError?
    /// nil only on pages for everyone.
    var session: Session?
    /// The app in the path.
    var named: App?
    private let omissions = Omissions()

    var services: ConsoleServices { console.services }
    var holder: Holder? { session?.holder }
    /// For the verbs.
    var verb: VerbCall {
        VerbCall(actor: holder?.actor ?? "nobody", now: now, address: client.address, requestID: requestID)
    }

    /// - Throws: `not_found`, which cannot happen on a path with an app.
    var app: App {
        get throws(PealError) {
            guard let named else { throw .notFound("app") }
            return named
        }
    }

    /// Whether a list of this page lacks rows or details that cannot be read.
    var hasOmissions: Bool { omissions.isNoted.load(ordering: .relaxed) }

    /// Reads a list without the rows that cannot be read.
    func list<R: Sendable>(
        _ lane: ReadLane = .request, _ body: @escaping @Sendable (any StoreReading, _ more: Int) throws -> R
    ) async throws -> R {
        shown(try await services.store.checkedList(lane, body))
    }

    /// The items of a list; the page says so if some are missing.
    func shown<R>(_ list: (items: R, isComplete: Bool)) -> R {
        if !list.isComplete { omissions.isNoted.store(true, ordering: .relaxed) }
        return list.items
    }

    func parameter(_ name: String) -> String { parameters[name] ?? "" }

    /// An id in the path.
    /// - Throws: `not_found` for an invalid id, because no object can have it.
    func id<Of>(_ name: String, of what: String) throws(PealError) -> Identifier<Of> {
        guard let id = Identifier<Of>(parameter(name)) else { throw .notFound(what) }
        return id
    }

    func may(_ scope: APIKey.Scope) -> Bool { holder?.scopes.contains(scope) ?? false }
    /// - Throws: `forbidden` without the scope.
    func demand(_ scope: APIKey.Scope) throws(PealError) {
        guard may(scope) else { throw PealError(.forbidden, texts(.lacksScope, scope.rawValue)) }
    }

    /// Whether the page is the result of a form.
    var isPosted: Bool { !form.pairs.isEmpty }

    var isAdmin: Bool { holder?.isAdmin ?? false }

    /// The path of a page of the app.
    func link(_ segments: String...) -> String {
        let base = named.map { "/console/apps/\($0.id)/" } ?? "/console/"
        return base + segments.filter { !$0.isEmpty }.map(URLPath.segment).joined(separator: "/")
    }
}

/// Whether the lists of one page lack something. A reference, because handlers receive copies of the call.
private final class Omissions: Sendable {
    let isNoted = Atomic(false)
}

extension PageCall {
    static let foreignForm = PealError(.forbidden, "this form is too old or was not made here; open the page again")
    static let oldForm = PealError(.forbidden, "this form is no longer valid; check it and send it again")

    /// Under TLS the name keeps other hosts and other paths from setting the cookie (RFC 6265bis §4.1.3.2).
    private var cookieName: String { isSecure ? "__Host-peal_session" : "peal_session" }

    var sessionCookie: String? {
        let pairs = client.headers[values: .cookie].flatMap { $0.split(separator: ";") }
        let values = pairs.compactMap { pair -> String? in
            let halves = pair.split(separator: "=", maxSplits: 1).map { String($0).trimmed }
            return halves.count == 2 && halves[0] == cookieName ? halves[1] : nil
        }
        return values.first
    }

    /// The header that sets the session's cookie; an empty value deletes it.
    func cookieHeader(_ value: String) -> String {
        let age = value.isEmpty ? 0 : Limits.consoleSessionSeconds
        return "\(cookieName)=\(value); Path=/; Max-Age=\(age); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }

    /// Where to go without a session; after signing in, the browser returns to a page.
    /// - Parameters:
    ///   - hadCookie: whether the session has ended.
    ///   - isForm: whether a page sent a form; a session has ended then too.
    func signInRedirect(hadCookie: Bool, isPage: Bool, isForm: Bool) -> ConsoleAnswer {
        var members: [String] = []
        let page = query.pairs.isEmpty ? path : "\(path)?\(query.encoded)"
        if isPage, path != "/console" { members.append("next=\(PercentCoding.encode(page))") }
        if hadCookie || isForm { members.append("ended=1") }
        let query = members.isEmpty ? "" : "?" + members.joined(separator: "&")
        var answer = ConsoleAnswer(redirect: "/console/sign-in" + query)
        if hadCookie { answer.setCookie(cookieHeader("")) }
        return answer
    }

    /// The hidden value of a form. Without a session it proves that the server made the form within the last hour.
    var formSecret: String {
        guard let session else { return Self.signInSecret(services, hour: now.seconds / 3600) }
        return console.sessions.formSecret(session)
    }

    private static func signInSecret(_ services: ConsoleServices, hour: Int64) -> String {
        Hex.encode(services.hasher.hash("console sign-in\n\(hour)"))
    }

    /// Whether the form has the secret of its session.
    var hasFormSecret: Bool {
        let shown = form["csrf"] ?? ""
        var valid = [formSecret]
        if session == nil { valid.append(Self.signInSecret(services, hour: now.seconds / 3600 - 1)) }
        return valid.contains { ConstantTime.areEqual($0, shown) }
    }

    /// Checks the right that the page needs, and reads the app in the path.
    /// - Throws: `forbidden`; `not_found` for an unknown app.
    mutating func enter(_ need: ConsoleRoute.Need) async throws {
        switch need {
        case .anonymous, .session: return
        case .admin: guard isAdmin else { throw PealError(.forbidden, texts[.onlyAdmin]) }
        case .scope(let scope):
            guard let id = AppID(parameter("app")) else { throw PealError.notFound("app") }
            named = try await services.store.read { try $0.app(id) }
            if let own = holder?.app, own != named?.key {
                named = nil
                throw PealError(.forbidden, texts[.otherApp])
            }
            guard named != nil else { throw PealError.notFound("app") }
            if let scope { try demand(scope) }
        }
    }
}
