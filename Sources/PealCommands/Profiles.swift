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
        "ca_file": "PEAL_CA_FILE",
    ]

    /// The environment with the profile that the arguments or the environment choose. One that the arguments choose
    /// takes precedence over variables; otherwise they do.
    /// - Throws: `usage` for a profile that does not exist or cannot be used.
    static func environment(
        for arguments: [String], in surroundings: Surroundings
    ) throws(CommandFailure) -> [String: String] {
        var environment = surroundings.environment.filter { !$0.value.isEmpty }
        let chosen = name(in: arguments)
        guard let name = chosen ?? environment["PEAL_PROFILE"], !name.isEmpty else { return environment }
        let profile = try profile(name, surroundings)
        let holdsKey = profile["api_key"] != nil || profile["api_key_file"] != nil
        if chosen != nil, holdsKey {
            for variable in ["PEAL_API_KEY", "PEAL_API_KEY_FILE", "PEAL_ADMIN_TOKEN"] { environment[variable] = nil }
        }
        let hasKey = ["PEAL_API_KEY", "PEAL_API_KEY_FILE"].contains { environment[$0] != nil }
        for (member, value) in profile {
            guard let variable = members[member] else {
                let known = members.keys.sorted().joined(separator: ", ")
                throw .usage("profile \(name): \(member) is unknown; known are \(known)")
            }
            if member.hasPrefix("api_key"), hasKey { continue }
            if chosen != nil || environment[variable] == nil { environment[variable] = value }
        }
        return environment
    }

    /// The value of `--profile`.
    private static func name(in arguments: [String]) -> String? {
        for (index, argument) in arguments.enumerated() {
            if argument == "--" { return nil }
            if argument == "--profile", index + 1 < arguments.count { return arguments[index + 1] }
            if argument.hasPrefix("--profile=") { return String(argument.dropFirst("--profile=".count)) }
        }
        return nil
    }

    private static func profile(
        _ name: String, _ surroundings: Surroundings
    ) throws(CommandFailure) -> [String: String] {
        let path = path(surroundings.environment)
        guard let bytes = surroundings.read(path) else { throw .usage("cannot read the profiles in \(path)") }
        guard let profiles = (try? JSONParser.parse(bytes))?.objectValue else {
            throw .usage("\(path): expected a JSON object")
        }
        guard let members = profiles[name]?.objectValue else {
            let names = profiles.names.joined(separator: ", ")
            throw .usage("\(path) has no profile \(name)" + (names.isEmpty ? "" : "; it has \(names)"))
        }
        let values = members.pairs.compactMap { name, value in value.stringValue.map { (name, $0) } }
        guard values.count == members.count else { throw .usage("profile \(name): every value must be a string") }
        if members["api_key"] != nil, isLoose(path) {
            throw .usage("\(path) contains a key, and other users can read it: chmod 600 \(path)")
        }
        return Dictionary(values) { $1 }
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
