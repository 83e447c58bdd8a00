internal import Foundation
internal import PealPostgres

/// Where the store is.
package enum StoreLocation: Sendable, Hashable, CustomStringConvertible {
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
    package var description: String {
        switch self {
        case .sqlite(let path): path
        case .postgres(let url): Self.masked(url)
        }
    }

    /// Replaces the password of a URL, before the host or as a parameter.
    static func masked(_ url: String) -> String {
        guard let scheme = url.range(of: "://") else { return url }
        var rest = String(url[scheme.upperBound...])
        let authorityEnd = rest.firstIndex { "/?".contains($0) } ?? rest.endIndex
        if let at = rest[..<authorityEnd].lastIndex(of: "@"), let colon = rest[..<at].firstIndex(of: ":") {
            rest.replaceSubrange(rest.index(after: colon)..<at, with: "********")
        }
        if let name = rest.range(of: "password=") {
            let end = rest[name.upperBound...].firstIndex(of: "&") ?? rest.endIndex
            rest.replaceSubrange(name.upperBound..<end, with: "********")
        }
        return url[..<scheme.upperBound] + rest
    }
}
