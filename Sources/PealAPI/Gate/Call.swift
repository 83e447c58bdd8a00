internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// One admitted request, as handlers see it.
struct Call: Sendable {
    let method: HTTPRequest.Method
    let path: RequestPath
    let parameters: [String: String]
    let query: Query
    let headers: HTTPFields
    let caller: Caller
    let visit: Visit
    let body: [UInt8]
    /// Set if the request carries `Idempotency-Key`.
    let idempotent: IdempotentRequest?
    let jsonValuesMax: Int
    /// The turn to parse a large body; held until it is parsed.
    let parsing: ParsingTurns.Turn?
    /// Whether a body in which an object has a member twice is refused. Otherwise the last one counts.
    var refusesRepeatedMembers = false

    var now: Timestamp { visit.at }

    /// In the server's log and in `X-Request-Id`.
    var requestID: String { visit.requestID }

    /// For the verbs.
    var verb: VerbCall { verb(by: caller) }

    /// For the verbs, if the body named the caller. The address of a device that changed its topics or deleted itself
    /// is not kept.
    func verb(by caller: Caller) -> VerbCall {
        var call = VerbCall(
            actor: caller.actor, now: now, request: idempotent,
            address: caller.isDevice ? nil : visit.address.text, requestID: visit.requestID)
        call.noted = visit.noted
        return call
    }

    /// The app that the path names or that the key belongs to.
    /// - Throws: `forbidden`, which cannot happen on a path with an app.
    func app() throws(PealError) -> App {
        guard let app = caller.app else { throw PealError(.forbidden, "this key is not an app's key") }
        return app
    }

    /// All apps that the caller's key may be used for, its own first.
    func apps(in store: any StoreReading) throws -> [App] {
        guard let app = caller.app else { return [] }
        let others = try (caller.key?.apps ?? []).filter { $0.key != app.key }.compactMap { try store.app(key: $0.key) }
        return [app] + others
    }

    /// A path segment that the route reads as a parameter.
    func parameter(_ name: String) -> String { parameters[name] ?? "" }

    /// An id in the path.
    /// - Throws: `not_found` for an invalid id, because no object can have it.
    func id<Of>(_ name: String, of what: String) throws(PealError) -> Identifier<Of> {
        guard let id = Identifier<Of>(parameter(name)) else { throw .notFound(what) }
        return id
    }

    /// A text in the path, such as a name.
    /// - Throws: `invalid_field`, naming the parameter.
    func text(_ parameter: String) throws(PealError) -> String {
        try Shape.text().value(of: self.parameter(parameter), named: parameter)
    }

    /// The body as a JSON object.
    /// - Throws: `invalid_json` with line and column.
    /// - Parameter isLenient: as in `JSONParser.parse`.
    func object(isLenient: Bool = false) throws(PealError) -> JSON {
        let json = try document(isLenient: isLenient)
        guard json.objectValue != nil else {
            throw PealError(.invalidJSON, "the body must be a JSON object, not \(json.typeName)")
        }
        return json
    }

    /// The body, read as `shape` says.
    func body<Value>(_ shape: Shape<Value>, _ policy: Policy = .strict) throws(PealError) -> Value {
        try shape.value(of: try object(), policy, now: now)
    }

    /// The body as a JSON array.
    /// - Throws: `invalid_json` with line and column.
    func array() throws(PealError) -> [JSON] {
        let json = try document()
        guard let elements = json.arrayValue else {
            throw PealError(.invalidJSON, "the body must be a JSON array, not \(json.typeName)")
        }
        return elements
    }

    private func document(isLenient: Bool = false) throws(PealError) -> JSON {
        defer { parsing?.end() }
        do throws(JSONParser.Failure) {
            return try JSONParser.parse(
                body, valuesMax: jsonValuesMax, isLenient: isLenient, refusesRepeated: refusesRepeatedMembers)
        } catch {
            if let name = error.repeated.map(PealError.shown) {
                throw .invalid(name, "\(name) is given more than once, at line \(error.line), column \(error.column)")
            }
            guard !error.hasTooManyValues else {
                throw PealError(.bodyTooLarge, "the body contains more than \(jsonValuesMax) JSON values")
            }
            throw PealError(.invalidJSON, "the body is not valid JSON: \(error)")
        }
    }

    /// The answer to a GET of a document with that tag: 304 if the caller has this version already (`If-None-Match`,
    /// RFC 9110 §13.1.2: weak comparison).
    func answer(_ bytes: [UInt8], type: String, tag: String) -> Answer {
        let isKnown = headers[values: .ifNoneMatch].flatMap { $0.split(separator: ",") }.contains { given in
            ["*", tag, "W/\(tag)"].contains(String(given).trimmedBlanks)
        }
        var answer = isKnown ? Answer(.notModified) : Answer(.ok, bytes: bytes, type: type)
        answer.headers[.eTag] = tag
        return answer
    }
}
