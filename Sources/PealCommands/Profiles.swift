internal import Foundation
internal import PealCore

/// Named servers: `--profile NAME` or `PEAL_PROFILE` reads server, key and app from a file.
///
/// ```json
/// {"staging": {"server": "https://push.example", "api_key_file": "/home/ann/.peal/staging", "app": "0199…"}}
/// ```
enum Profiles {
    /// The members of a profile and the corresponding variables.
    private static let members = [
        "server": "PEAL_SERVER_URL", "api_key_file": "PEAL_API_KEY_FILE", "api_key": "PEAL_API_KEY", "app": "PEAL_APP",
        "ca_file": "PEAL_CA_FILE", "client_cert_file": "PEAL_CLIENT_CERT_FILE",
        "client_key_file": "PEAL_CLIENT_KEY_FILE",
    ]

    /// The variables that give a key.
    private static let keys: Set = ["PEAL_API_KEY", "PEAL_API_KEY_FILE", "PEAL_ADMIN_TOKEN"]

    /// The environment with the profile that an option or the environment chooses. One that an option chooses takes
    /// precedence over variables; otherwise they do.
    /// - Parameter options: the options of the command; nil for a command that uses no profile.
    /// - Throws: `usage` for a profile that does not exist or cannot be used.
    static func environment(
        for options: ClientOptions?, in surroundings: Surroundings
    ) throws(CommandFailure) -> [String: String] {
        var environment = surroundings.environment.filter { !$0.value.isEmpty }
        guard let options, let name = options.profile ?? environment["PEAL_PROFILE"], !name.isEmpty else {
            return environment
        }
        var profile = try variables(of: name, surroundings)
        let isChosen = options.profile != nil
        let server = options.server ?? (isChosen ? nil : environment["PEAL_SERVER_URL"])
        // The profile's key must not be sent to a server other than the profile's.
        if let server, let own = profile["PEAL_SERVER_URL"], !isSame(server, own) { profile = withoutKeys(profile) }
        if isChosen, profile.keys.contains(where: { keys.contains($0) }) {
            environment = withoutKeys(environment)
        } else if environment.keys.contains(where: { keys.contains($0) }) {
            profile = withoutKeys(profile)
        }
        return environment.merging(profile) { isChosen ? $1 : $0 }
    }

    private static func withoutKeys(_ variables: [String: String]) -> [String: String] {
        variables.filter { !keys.contains($0.key) }
    }

    /// Whether both are the URL of the same server. Different spellings of one URL count as different servers, for
    /// which the user must supply the key.
    private static func isSame(_ one: String, _ other: String) -> Bool {
        let plain = { (url: String) in url.hasSuffix("/") ? String(url.dropLast()) : url }
        return plain(one) == plain(other)
    }

    /// What the profile sets.
    private static func variables(
        of name: String, _ surroundings: Surroundings
    ) throws(CommandFailure) -> [String: String] {
        let path = path(surroundings.environment)
        guard let bytes = surroundings.read(path) else { throw .usage("cannot read the profiles in \(path)") }
        guard let profiles = (try? JSONParser.parse(bytes))?.objectValue else {
            throw .usage("\(path): expected a JSON object")
        }
        guard let profile = profiles[name]?.objectValue else {
            let names = profiles.names.joined(separator: ", ")
            throw .usage("\(path) has no profile \(name)" + (names.isEmpty ? "" : "; it has \(names)"))
        }
        if profile["api_key"] != nil, isLoose(path) {
            throw .usage("\(path) contains a key, and other users can read it: chmod 600 \(path)")
        }
        var variables: [String: String] = [:]
        for (member, value) in profile.pairs {
            guard let variable = members[member] else {
                let known = members.keys.sorted().joined(separator: ", ")
                throw .usage("profile \(name): \(member) is unknown; known are \(known)")
            }
            guard let text = value.stringValue else { throw .usage("profile \(name): every value must be a string") }
            variables[variable] = text
        }
        return variables
    }

    private static func path(_ environment: [String: String]) -> String {
        if let path = environment["PEAL_PROFILES_FILE"], !path.isEmpty { return path }
        // "If $XDG_CONFIG_HOME is either not set or empty …" (XDG Base Directory Specification)
        if let folder = environment["XDG_CONFIG_HOME"], !folder.isEmpty { return "\(folder)/peal/profiles.json" }
        let home = environment["HOME"] ?? NSHomeDirectory()
        return "\(home)/.config/peal/profiles.json"
    }

    private static func isLoose(_ path: String) -> Bool {
        let mode = try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        return mode.map { $0 & 0o077 != 0 } ?? false
    }
}
