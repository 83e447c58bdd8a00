internal import PealCore

/// What a body may be called. A missing name is taken for JSON everywhere.
enum MediaType {
    /// What an API takes for JSON.
    enum Tolerance {
        /// Only what is called so.
        case none
        /// Also the names that HTTP clients give by themselves.
        case clients
        /// Any.
        case everything
    }

    /// - Throws: `unsupported_media_type`.
    static func check(_ contentType: String?, tolerance: Tolerance) throws(PealError) {
        guard let contentType, tolerance != .everything else { return }
        let name = contentType.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
        if name.isEmpty || name == "application/json" || name.hasSuffix("+json") { return }
        if tolerance == .clients, ["text/plain", "application/x-www-form-urlencoded"].contains(name) { return }
        throw PealError(.unsupportedMediaType, "the body must be application/json")
    }
}
