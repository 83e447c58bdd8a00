internal import PealCore

/// What a body may be called.
enum MediaType {
    /// What an API takes for JSON.
    enum Tolerance {
        /// Only what is called so.
        case none
        /// Also a missing name, and those that HTTP clients give by themselves.
        case clients
        /// Any.
        case everything
    }

    /// - Throws: `unsupported_media_type`.
    static func check(_ contentType: String?, tolerance: Tolerance) throws(PealError) {
        guard tolerance != .everything else { return }
        let name = (contentType ?? "").prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
        if name == "application/json" || name.hasSuffix("+json") { return }
        if tolerance == .clients, ["", "text/plain", "application/x-www-form-urlencoded"].contains(name) { return }
        throw PealError(.unsupportedMediaType, "the body must be application/json")
    }
}
