internal import PealCore

/// What a tap does, under the keys that the vendor's SDKs read in a payload.
enum DevtodevActions {
    private static let keys = [("url", "_u"), ("deeplink", "_d"), ("share", "_s")]

    /// The action in `object`; the first of `url`, `deeplink` and `share` where several are given.
    static func member(_ object: Tolerance) throws(PealError) -> (String, JSON)? {
        guard let action = try object.object("action") else { return nil }
        var members: [(String, JSON)] = []
        for (name, key) in keys {
            if let text = try action.freeText(name) { members.append((key, .string(text))) }
        }
        return members.first
    }
}
