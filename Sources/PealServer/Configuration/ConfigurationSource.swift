internal import Configuration
internal import Foundation
internal import PealCore
internal import Yams

/// Where the value of a key comes from.
enum ConfigurationOrigin: Sendable {
    case commandLine, environment, file, fallback
}

/// Reads values by key: command line first, then environment, then file.
struct ConfigurationSource {
    private let readers: [(origin: ConfigurationOrigin, reader: ConfigReader)]

    init(arguments: [String], environment: [String: String]) throws {
        try Self.refuseUnknown(arguments)
        let flags = CommandLineArgumentsProvider(arguments: ["peal"] + arguments)
        // An empty variable counts as unset: compose files and unit files omit a value this way.
        let variables = environment.filter { $0.key.hasPrefix("PEAL_") && !$0.value.isEmpty }
            .map { (String($0.key.dropFirst("PEAL_".count)), $0.value) }
        let environmentVariables = EnvironmentVariablesProvider(
            environmentVariables: Dictionary(uniqueKeysWithValues: variables))
        let outer: [(origin: ConfigurationOrigin, reader: ConfigReader)] = [
            (.commandLine, ConfigReader(provider: flags)), (.environment, ConfigReader(provider: environmentVariables)),
        ]
        guard let path = Self.find(.configFile, in: outer)?.value else {
            readers = outer
            return
        }
        let file = InMemoryProvider(values: try Self.values(inFile: path))
        readers = outer + [(.file, ConfigReader(provider: file))]
    }

    func text(_ key: ConfigurationKey) -> String? { Self.find(key, in: readers)?.value ?? key.fallback }

    func origin(_ key: ConfigurationKey) -> ConfigurationOrigin { Self.find(key, in: readers)?.origin ?? .fallback }

    private static func find(
        _ key: ConfigurationKey, in readers: [(origin: ConfigurationOrigin, reader: ConfigReader)]
    ) -> (origin: ConfigurationOrigin, value: String)? {
        for (origin, reader) in readers {
            let name = ConfigKey(key.words)
            // The reader of options treats a value with a comma as a list.
            let value = reader.string(forKey: name) ?? reader.stringArray(forKey: name)?.joined(separator: ",")
            if let value { return (origin, value) }
        }
        return nil
    }

    private static func refuseUnknown(_ arguments: [String]) throws {
        let flags = Set(ConfigurationKey.all.map(\.flag))
        var seen: Set<String> = []
        for argument in arguments where argument.hasPrefix("--") {
            let flag = String(argument.prefix { $0 != "=" })
            guard flags.contains(flag) else {
                throw ConfigurationFailure("\(flag): unknown option\(hint(flag, Array(flags)))")
            }
            guard seen.insert(flag).inserted else { throw ConfigurationFailure("\(flag): given twice") }
        }
        for (former, argument) in zip(arguments, arguments.dropFirst()) where !argument.hasPrefix("--") {
            guard former.hasPrefix("--"), !former.contains("=") else {
                throw ConfigurationFailure("\(argument): an option has one value")
            }
        }
        if let first = arguments.first, !first.hasPrefix("--") {
            throw ConfigurationFailure("\(first): expected an option, such as --http-port")
        }
    }

    private static func hint(_ name: String, _ names: [String]) -> String {
        Spelling.nearest(to: name, names.sorted()).map { "; did you mean \($0)?" } ?? ""
    }

    /// The values in the file, by key. `http: {port_file: x}`, `http.port_file: x` and `http: {port: {file: x}}` name
    /// the same key.
    private static func values(inFile path: String) throws -> [AbsoluteConfigKey: ConfigValue] {
        let text: String
        do {
            text = try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            let isReadable = access(path, R_OK) == 0
            let reason = isReadable ? "it is not a text file in UTF-8" : String(cString: strerror(errno))
            throw ConfigurationFailure(.configFile, "cannot read \(path): \(reason)")
        }
        let root: Node?
        do {
            root = try Yams.compose(yaml: text)
        } catch {
            let firstLine = String(describing: error).split(separator: "\n").first ?? ""
            throw ConfigurationFailure(.configFile, "\(path) is not valid YAML: \(firstLine)")
        }
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        guard let root, root != Node("", .init(.null)) else { return values }
        try collect(root, path: [], file: path, into: &values)
        return values
    }

    private static func collect(
        _ node: Node, path: [String], file: String, into values: inout [AbsoluteConfigKey: ConfigValue]
    ) throws {
        let name = path.joined(separator: ".")
        switch node {
        case .mapping(let mapping):
            for (key, value) in mapping {
                try collect(value, path: path + [key.string ?? ""], file: file, into: &values)
            }
        case .scalar(let scalar):
            try set(node.null == nil ? scalar.string : "", name, file: file, into: &values)
        case .sequence(let sequence):
            let elements = sequence.compactMap(\.string)
            guard !path.isEmpty else { throw ConfigurationFailure("(top level): expected keys and values in \(file)") }
            guard elements.count == sequence.count else {
                throw ConfigurationFailure("\(name): expected a value in \(file)")
            }
            try set(elements.joined(separator: ","), name, file: file, into: &values)
        case .alias:
            throw ConfigurationFailure("\(name): aliases are not supported in \(file)")
        }
    }

    private static func set(
        _ value: String, _ name: String, file: String, into values: inout [AbsoluteConfigKey: ConfigValue]
    ) throws {
        let words = name.lowercased().replacing("_", with: ".")
        guard let key = ConfigurationKey.all.first(where: { $0.words == words }), key != .configFile else {
            let meant = hint(words, ConfigurationKey.all.map(\.words))
            throw ConfigurationFailure("\(name.isEmpty ? "(top level)" : name): unknown key in \(file)\(meant)")
        }
        guard !value.isEmpty else { return }
        let path = AbsoluteConfigKey(words.split(separator: ".").map(String.init))
        guard values[path] == nil else { throw ConfigurationFailure("\(name): given twice in \(file)") }
        values[path] = ConfigValue(.string(value), isSecret: key.isSecret)
    }
}

/// Values that are valid for the kinds of their keys.
struct ConfigurationValues {
    private var values: [ConfigurationKey: String] = [:]

    /// - Throws: `ConfigurationFailure` for the first invalid value.
    init(_ source: ConfigurationSource) throws {
        for key in ConfigurationKey.all {
            guard let text = source.text(key) else { continue }
            try Self.check(text, key)
            values[key] = text
        }
    }

    func optional(_ key: ConfigurationKey) -> String? { values[key] }

    /// The value or the default; nil for neither.
    func value(_ key: ConfigurationKey) -> String? { values[key] ?? key.fallback }

    /// Only for keys with a default.
    func text(_ key: ConfigurationKey) -> String { values[key] ?? key.fallback ?? "" }

    /// Only for integer keys with a default.
    func integer(_ key: ConfigurationKey) -> Int { Int(text(key)) ?? 0 }

    func optionalInteger(_ key: ConfigurationKey) -> Int? { values[key].flatMap { Int($0) } }

    func list(_ key: ConfigurationKey) -> [String] {
        text(key).split(separator: ",").map { String($0).trimmedBlanks.lowercased() }.filter { !$0.isEmpty }
    }

    private static func check(_ text: String, _ key: ConfigurationKey) throws {
        switch key.kind {
        case .text: return
        case .path:
            guard !text.isEmpty else { throw ConfigurationFailure(key, "must not be empty") }
        case .integer(let range, _):
            guard let value = Int(text), range.contains(value) else {
                throw ConfigurationFailure(
                    key, "must be a whole number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
            }
        case .choice(let choices):
            guard choices.contains(text) else {
                throw ConfigurationFailure(key, "must be \(key.kind.name), not \"\(text)\"")
            }
        case .url(let allowsHTTP): try checkURL(text, key, allowsHTTP: allowsHTTP)
        case .hosts:
            let entries = text.split(separator: ",").map { String($0).trimmedBlanks }.filter { !$0.isEmpty }
            for entry in entries where AllowedHost(entry) == nil {
                throw ConfigurationFailure(
                    key, "must be hosts separated by commas, each host, host:port or .suffix, not \"\(entry)\"")
            }
        }
    }

    private static func checkURL(_ text: String, _ key: ConfigurationKey, allowsHTTP: Bool) throws {
        // Paths are appended. A password would be shown with the configuration.
        guard !text.contains(where: { $0 == "@" || $0 == "?" || $0 == "#" }) else {
            throw ConfigurationFailure(key, "must be a URL without a user name, query and fragment")
        }
        let parts = URLComponents(string: text)
        let host = parts?.host.map { $0.filter { $0 != "[" && $0 != "]" } } ?? ""
        let isHTTP = parts?.scheme == "http" && (allowsHTTP || isLoopback(host))
        guard !host.isEmpty, parts?.scheme == "https" || isHTTP else {
            let form = allowsHTTP ? "an http or https URL" : "an https URL (http only on this machine)"
            throw ConfigurationFailure(key, "must be \(form), not \"\(text)\"")
        }
    }

    private static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || IPAddress(host).map { $0.bytes.count == 4 ? $0.bytes[0] == 127 : host == "::1" } ?? false
    }
}

/// Why the server cannot start with this configuration, in one line: the key and the reason.
package struct ConfigurationFailure: Error, CustomStringConvertible {
    package let description: String
    /// Whether the reason may disappear by itself, such as a database that does not answer yet: then a later start with
    /// the same configuration may succeed.
    package let mayPass: Bool

    package init(_ description: String) { (self.description, mayPass) = (description, false) }

    init(_ key: ConfigurationKey, _ reason: String, mayPass: Bool = false) {
        description = "\(key.environmentName): \(reason)"
        self.mayPass = mayPass
    }
}
