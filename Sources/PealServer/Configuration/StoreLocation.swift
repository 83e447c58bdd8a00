internal import Foundation
internal import PealCore
internal import PealPostgres

/// Where the store is.
enum StoreLocation: Sendable, Hashable, CustomStringConvertible {
    case sqlite(path: String)
    /// A libpq URI.
    case postgres(url: String)

    /// - Parameter name: what errors call the URL.
    /// - Throws: `ConfigurationFailure` when `url` names no database that Peal can use.
    init(_ url: String, named name: String = ConfigurationKey.storeURL.environmentName) throws {
        if ["postgres://", "postgresql://"].contains(where: url.hasPrefix) {
            if let problem = PostgresURI.problem(url) { throw ConfigurationFailure("\(name): \(problem)") }
            self = .postgres(url: url)
        } else if url.hasPrefix("sqlite:"), url.count > "sqlite:".count {
            self = .sqlite(path: String(url.dropFirst("sqlite:".count)))
        } else {
            throw ConfigurationFailure("\(name): must be sqlite:PATH or postgres://…")
        }
    }

    /// Whether it is a database server, which may be down for a while.
    var isShared: Bool {
        switch self {
        case .sqlite: false
        case .postgres: true
        }
    }

    /// The path or the URL, without a password.
    var description: String {
        switch self {
        case .sqlite(let path): path
        case .postgres(let url): Self.masked(url)
        }
    }

    /// Replaces the passwords of a URL, before the host and as parameters, where libpq finds them: it reads a question
    /// mark before the host as a part of the password, and also knows `sslpassword`.
    static func masked(_ url: String) -> String {
        guard let scheme = url.range(of: "://") else { return url }
        var rest = String(url[scheme.upperBound...])
        let authorityEnd = rest.firstIndex(of: "/") ?? rest.endIndex
        if let at = rest[..<authorityEnd].lastIndex(of: "@"), let colon = rest[..<at].firstIndex(of: ":") {
            rest.replaceSubrange(rest.index(after: colon)..<at, with: mask)
        }
        let halves = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let parameters = halves.dropFirst().first.map { "?\(masked(parameters: $0))" } ?? ""
        return url[..<scheme.upperBound] + halves[0] + parameters
    }

    private static let mask = "********"

    private static func masked(parameters: Substring) -> String {
        parameters.split(separator: "&", omittingEmptySubsequences: false).map { parameter -> String in
            let name = parameter.prefix { $0 != "=" }
            return PercentCoding.decodeLeniently(name).hasSuffix("password") ? "\(name)=\(mask)" : String(parameter)
        }.joined(separator: "&")
    }
}
