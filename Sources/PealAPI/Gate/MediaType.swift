internal import PealCore

/// What a body may be called.
enum MediaType {
    /// - Parameter isTolerant: also takes a missing name, and those that HTTP clients give by themselves.
    /// - Throws: `unsupported_media_type`.
    static func check(_ contentType: String?, isTolerant: Bool) throws(PealError) {
        let name = (contentType ?? "").prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
        if name == "application/json" || name.hasSuffix("+json") { return }
        if isTolerant, ["", "text/plain", "application/x-www-form-urlencoded"].contains(name) { return }
        throw PealError(.unsupportedMediaType, "the body must be application/json")
    }
}
