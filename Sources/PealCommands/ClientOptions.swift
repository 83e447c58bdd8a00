internal import ArgumentParser
internal import Foundation
internal import NIOSSL
internal import PealCore

/// The options of every client command: the server, the API key and the output format.
struct ClientOptions: ParsableArguments {
    @Option(
        help: """
            Base URL of the server. Default: PEAL_SERVER_URL, or http with PEAL_HTTP_HOST (127.0.0.1) and \
            PEAL_HTTP_PORT (8080).
            """)
    var server: String?

    @Option(
        help: """
            API key or admin token; other users of this machine can see it. Default: --api-key-file, PEAL_API_KEY, or \
            PEAL_ADMIN_TOKEN.
            """)
    var apiKey: String?

    @Option(help: "File with the API key, or - for standard input. Default: PEAL_API_KEY_FILE.", completion: .file())
    var apiKeyFile: String?

    @Option(
        help:
            "File with further trusted certificates (PEM), for a server with a private authority. Default: PEAL_CA_FILE.",
        completion: .file())
    var caFile: String?

    @Option(
        help:
            "File with the certificate (PEM) that the server requires of its clients. Default: PEAL_CLIENT_CERT_FILE.",
        completion: .file())
    var clientCertFile: String?

    @Option(
        help: "File with the private key of that certificate (PEM). Default: PEAL_CLIENT_KEY_FILE.",
        completion: .file())
    var clientKeyFile: String?

    @Option(help: "Server, key and app from the profile of this name. Default: PEAL_PROFILE.")
    var profile: String?

    @Flag(help: "Print JSON instead of a table.")
    var json = false

    @Flag(
        help:
            "If the command changes something, show the request instead of sending it. A message is validated.")
    var dryRun = false

    /// The options of a command that was parsed; nil for one that uses no server.
    static func used(by command: any ParsableCommand) -> ClientOptions? {
        let groups = Mirror(reflecting: command).children.map { $0.value }
        guard let options = groups.compactMap({ ($0 as? OptionGroup<ClientOptions>)?.wrappedValue }).first else {
            return nil
        }
        // Doctor examines the server of this machine, and an export is checked without one.
        let checksFile = (command as? AuditVerifyCommand)?.file != nil
        let isLocal = checksFile || groups.contains { $0 is OptionGroup<ServerOptions> }
        return isLocal && options.profile == nil ? nil : options
    }

    /// - Parameters:
    ///   - address: the server's URL unless an option or the environment names another; nil for this machine's.
    ///   - secret: the API key unless an option or the environment gives another.
    /// - Throws: `CommandFailure.usage` when there is no key, or the URL is invalid.
    func client(
        at address: String? = nil, with secret: String? = nil
    ) throws(CommandFailure) -> APIClient {
        let base = try base(address)
        guard let key = try ownKey() ?? environment["PEAL_ADMIN_TOKEN"] ?? secret else {
            let hasProfile = (profile ?? environment["PEAL_PROFILE"]) != nil
            throw .usage(
                "no API key: give --api-key-file, or set PEAL_API_KEY or PEAL_ADMIN_TOKEN"
                    + (hasProfile ? "; a profile's key is used only with its own server" : ""))
        }
        guard !key.isEmpty, key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .usage("the API key may contain only printable ASCII characters without spaces")
        }
        return APIClient(base: base, apiKey: key, trust: try trust(), isDryRun: dryRun)
    }

    private func trust() throws(CommandFailure) -> ClientTrust {
        var trust = ClientTrust()
        trust.caFile = try certificateFile(caFile ?? environment["PEAL_CA_FILE"], "--ca-file")
        trust.certificateFile = try certificateFile(
            clientCertFile ?? environment["PEAL_CLIENT_CERT_FILE"], "--client-cert-file")
        trust.keyFile = clientKeyFile ?? environment["PEAL_CLIENT_KEY_FILE"]
        guard (trust.certificateFile == nil) == (trust.keyFile == nil) else {
            throw .usage("give both --client-cert-file and --client-key-file")
        }
        if let file = trust.keyFile {
            guard FileManager.default.isReadableFile(atPath: file) else { throw .usage("cannot read \(file)") }
            guard (try? NIOSSLPrivateKey(file: file, format: .pem)) != nil else {
                throw .usage("\(file) contains no unencrypted private key; --client-key-file needs one in PEM")
            }
        }
        return trust
    }

    /// The same file, if it contains a certificate.
    private func certificateFile(_ file: String?, _ option: String) throws(CommandFailure) -> String? {
        guard let file else { return nil }
        guard FileManager.default.isReadableFile(atPath: file) else { throw .usage("cannot read \(file)") }
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(file), !certificates.isEmpty else {
            throw .usage("\(file) contains no certificate; \(option) needs one in PEM")
        }
        return file
    }

    func hasKey() throws(CommandFailure) -> Bool { try ownKey() ?? environment["PEAL_ADMIN_TOKEN"] != nil }

    /// A client with the key, if there is one.
    func anyClient() throws(CommandFailure) -> APIClient {
        guard try hasKey() else {
            return APIClient(base: try base(nil), apiKey: "", trust: try trust())
        }
        return try client()
    }

    private func base(_ address: String?) throws(CommandFailure) -> String {
        // In a container, commands have the server's environment.
        let port = environment["PEAL_HTTP_PORT"].flatMap { UInt16($0) }.flatMap { $0 > 0 ? $0 : nil } ?? 8080
        let host = environment["PEAL_HTTP_HOST"] ?? "127.0.0.1"
        let base = server ?? environment["PEAL_SERVER_URL"] ?? address ?? "http://\(Self.authority(host, "\(port)"))"
        guard base.contains(#/^https?://[^/?#][^?#]*$/#) else {
            throw .usage("\(base) is not a valid server URL, such as http://127.0.0.1:8080")
        }
        return base
    }

    /// Host and port of a server that listens on `host`. One that listens on all addresses is reached on loopback.
    static func authority(_ host: String, _ port: String) -> String {
        switch host {
        case "0.0.0.0": "127.0.0.1:\(port)"
        case "::": "[::1]:\(port)"
        case let host where host.contains(":"): "[\(host)]:\(port)"
        case let host: "\(host):\(port)"
        }
    }

    private func ownKey() throws(CommandFailure) -> String? {
        guard apiKey == nil || apiKeyFile == nil else { throw .usage("give either --api-key or --api-key-file") }
        if let apiKey { return apiKey }
        if let apiKeyFile { return try firstLine(apiKeyFile) }
        if let key = environment["PEAL_API_KEY"] { return key }
        guard let file = environment["PEAL_API_KEY_FILE"] else { return nil }
        return try firstLine(file)
    }

    private func firstLine(_ path: String) throws(CommandFailure) -> String {
        let text = String(decoding: try InputFile.bytes(path), as: UTF8.self)
        guard let line = text.split(whereSeparator: \.isNewline).first else { throw .usage("\(path) has no key") }
        return String(line)
    }

    /// Prints a document in the chosen format.
    func show(_ document: JSON, columns: [String] = []) {
        Surroundings.current.print(json ? document.text : Table.text(document, columns: columns))
    }

    /// Prints `line` for an empty answer, or else the answer.
    func showDone(_ answer: JSON, _ line: String) {
        if json || answer != .empty { show(answer) } else { Surroundings.current.print(line) }
    }

    private var environment: [String: String] { Surroundings.current.environment }
}

/// The option that names the app.
struct AppOptions: ParsableArguments {
    @Option(help: "Id of the app. Default: PEAL_APP.")
    var app: String?

    /// The app's id.
    /// - Throws: `CommandFailure.usage` when it is missing or not an id.
    func id() throws(CommandFailure) -> String {
        guard let named = app ?? Surroundings.current.environment["PEAL_APP"] else {
            throw .usage("no app: give --app, or set PEAL_APP")
        }
        return try Self.id(named)
    }

    /// An app's id in its usual spelling.
    /// - Throws: `CommandFailure.usage` when it is not an id.
    static func id(_ text: String) throws(CommandFailure) -> String {
        guard let id = AppID(text) else { throw .usage("\(text) is not a valid app id") }
        return id.description
    }

    /// The path of something inside the app.
    func path(_ segments: [String] = []) throws(CommandFailure) -> APIPath {
        APIPath(["apps", try id()] + segments)
    }
}

/// A request body from a file; options replace its members.
struct BodyOptions: ParsableArguments {
    @Option(
        help: "File with the request body in JSON, or - for standard input. Options replace its members.",
        completion: .file())
    var file: String?

    /// The body: the file's document, in which `members` replace those of the same name.
    /// - Parameter merged: members that options give in parts. The file's other parts stay.
    /// - Throws: `CommandFailure.usage` when the file cannot be read or is not a JSON object.
    func body(_ members: [(String, JSON?)], merging merged: [String] = []) throws(CommandFailure) -> JSON {
        var document: JSON.Members = try fileMembers() ?? .init()
        for case (let name, let value?) in members {
            let earlier = merged.contains(name) ? document[name] : nil
            document[name] = earlier?.merging(value) ?? value
        }
        return .object(document)
    }

    /// The members of the file's document; nil without a file.
    /// - Throws: `CommandFailure.usage` when the file cannot be read or is not a JSON object.
    func fileMembers() throws(CommandFailure) -> JSON.Members? {
        guard let file else { return nil }
        guard let members = try InputFile.json(file).objectValue else {
            throw .usage("\(file): expected a JSON object")
        }
        return members
    }
}

/// How many items of a list to show.
struct ListOptions: ParsableArguments {
    static let limitDefault = 200

    @Option(name: .customLong("limit"), help: "Maximum number of items. Default: \(ListOptions.limitDefault).")
    var givenLimit: Int?

    func validate() throws {
        guard givenLimit ?? 1 > 0 else { throw ValidationError("--limit must be at least 1") }
    }
}

extension JSON {
    /// A string member if the option is given.
    static func text(_ value: String?) -> JSON? { value.map { .string($0) } }

    /// An array member if the option is given at least once.
    static func texts(_ values: [String]) -> JSON? {
        values.isEmpty ? nil : .array(values.map { .string($0) })
    }

    /// A number member if the option is given.
    static func whole(_ value: Int64?) -> JSON? { value.map { .integer($0) } }

    /// `true` if the flag is set.
    static func flag(_ value: Bool) -> JSON? { value ? .bool(true) : nil }

    /// An object member, left out when it would be empty.
    static func filled(_ members: [(String, JSON?)]) -> JSON? {
        let object = JSON.compact(members)
        return object == .empty ? Optional.none : object
    }

    /// `{}`.
    static let empty = JSON.object(Members())
}
