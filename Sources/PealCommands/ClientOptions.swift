internal import ArgumentParser
internal import PealCore

/// Where the server is, how to be let in, and how to print: the options of every client command.
struct ClientOptions: ParsableArguments {
    @Option(help: "Base URL of the server (PEAL_SERVER_URL; http://127.0.0.1:8080).")
    var server: String?

    @Option(help: "API key or admin token (PEAL_API_KEY, else PEAL_ADMIN_TOKEN).")
    var apiKey: String?

    @Flag(help: "Print one JSON document instead of a table.")
    var json = false

    /// - Parameters:
    ///   - address: the server's URL where nothing else names one.
    ///   - secret: the key where nothing else gives one.
    /// - Throws: `CommandFailure.usage` when there is no key or the URL is none.
    func client(
        at address: String = "http://127.0.0.1:8080", with secret: String? = nil
    ) throws(CommandFailure) -> APIClient {
        let base = server ?? value("PEAL_SERVER_URL") ?? address
        guard base.contains(#/^https?://[^/?#]/#) else {
            throw .usage("\(base) is not the URL of a server, as http://127.0.0.1:8080 is one")
        }
        guard let key = apiKey ?? value("PEAL_API_KEY") ?? value("PEAL_ADMIN_TOKEN") ?? secret else {
            throw .usage("no API key: give --api-key, or set PEAL_API_KEY or PEAL_ADMIN_TOKEN")
        }
        guard !key.isEmpty, key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .usage("the API key must be printable ASCII without blanks")
        }
        return APIClient(base: base, apiKey: key)
    }

    /// Prints a document as the person wants it.
    func show(_ document: JSON, columns: [String] = []) {
        Surroundings.current.print(json ? document.text : Table.text(document, columns: columns))
    }

    /// Prints that something was done whose answer is empty.
    func showDone(_ answer: JSON, _ line: String) {
        if json || answer != .empty { show(answer) } else { Surroundings.current.print(line) }
    }

    private func value(_ name: String) -> String? {
        Surroundings.current.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// The options of commands that work inside one app.
struct AppOptions: ParsableArguments {
    @Option(help: "Id of the app (PEAL_APP).")
    var app: String?

    /// The app's id.
    /// - Throws: `CommandFailure.usage` when it is not given or no id.
    func id() throws(CommandFailure) -> String {
        let named = app ?? Surroundings.current.environment["PEAL_APP"].flatMap { $0.isEmpty ? nil : $0 }
        guard let named else { throw .usage("no app: give --app or set PEAL_APP") }
        guard let id = AppID(named) else { throw .usage("\(named) is not the id of an app") }
        return id.description
    }

    /// The path of something inside the app.
    func path(_ segments: String...) throws(CommandFailure) -> APIPath {
        APIPath(["apps", try id()] + segments)
    }
}

/// A request body from a file; what is given as options is laid over it.
struct BodyOptions: ParsableArguments {
    @Option(help: "JSON body from this file, - for standard input; options are laid over it.")
    var file: String?

    /// The body: the file's document with `members` merged into it.
    /// - Throws: `CommandFailure.usage` when the file cannot be read or is no JSON object.
    func body(_ members: [(String, JSON?)]) throws(CommandFailure) -> JSON {
        let given = JSON.compact(members)
        guard let file else { return given }
        let document = try Self.document(file)
        guard document.objectValue != nil else { throw .usage("\(file): expected a JSON object") }
        return document.merging(given)
    }

    static func document(_ path: String) throws(CommandFailure) -> JSON {
        do {
            return try JSONParser.parse(try bytes(path))
        } catch let failure as JSONParser.Failure {
            throw .usage("\(path): \(failure)")
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw .usage("\(path): \(error)")
        }
    }

    static func bytes(_ path: String) throws(CommandFailure) -> [UInt8] {
        guard let bytes = Surroundings.current.read(path) else { throw .usage("cannot read \(path)") }
        return bytes
    }
}

/// How much of a list to show.
struct ListOptions: ParsableArguments {
    @Option(help: "Show at most this many.")
    var limit = 200

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit must be at least 1.") }
    }
}

extension JSON {
    /// A string member where the option is given.
    static func text(_ value: String?) -> JSON? { value.map { .string($0) } }

    /// An array member where the option is given at least once.
    static func texts(_ values: [String]) -> JSON? {
        values.isEmpty ? nil : .array(values.map { .string($0) })
    }

    /// A number member where the option is given.
    static func whole(_ value: Int64?) -> JSON? { value.map { .integer($0) } }

    /// `true` where the flag is set.
    static func flag(_ value: Bool) -> JSON? { value ? .bool(true) : nil }

    /// An object member, left out when it would be empty.
    static func filled(_ members: [(String, JSON?)]) -> JSON? {
        let object = JSON.compact(members)
        return object == .empty ? Optional.none : object
    }

    /// `{}`.
    static let empty = JSON.object(Members())
}
