internal import PealCore

/// The refusals that have a number of their own, told apart by the field they name.
enum DevtodevRefusals {
    static let app = "app_id"
    static let audience = "audience"
    static let platforms = "ios, android, uwp or win"
    static let credentials = "credentials"
    static let hiddenSuffix = "options.hidden: true"

    static let noPlatform = PealError(.missingField, "the request must hold one of \(platforms)", field: platforms)

    static func notConfigured(_ names: [String]) -> PealError {
        PealError(
            .conflict, "the app has no credential to push to \(names.joined(separator: ", "))", field: credentials)
    }

    /// What a hidden push may not have.
    static func hidden(_ message: Tolerance, _ name: String) -> PealError {
        let field = message.path(hiddenSuffix)
        return .invalid(field, "\(field) allows no \(name)")
    }
}

extension PealError {
    /// The same refusal, with the member of the request in place of the core's field.
    /// - Parameter windowsName: what the request calls its Windows object.
    func inDevtodevTerms(windowsName: String) -> PealError {
        let names = (field ?? "").split(separator: ".").map(String.init)
        guard names.count > 1, names[0] == "content", let platform = Platform(rawValue: names[1]) else { return self }
        let object = platform == .windows ? windowsName : platform.rawValue
        let part = names.last == "collapse_key" ? "\(object).options.collapse_key" : "\(object).payload"
        return PealError(
            code, message, field: platform == .windows ? object : part, retryAfterSeconds: retryAfterSeconds)
    }
}
