import Foundation

/// Reads bodies of `application/x-www-form-urlencoded`.
enum FormText {
    /// The fields of the body; nil when it is of another type.
    static func read(_ request: PushRequest) -> [String: String]? {
        let type = (request.value("content-type") ?? "").prefix { $0 != ";" }
        guard type.lowercased() == "application/x-www-form-urlencoded" else { return nil }
        var fields: [String: String] = [:]
        for pair in String(decoding: request.body, as: UTF8.self).split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            fields[decode(halves[0])] = halves.count > 1 ? decode(halves[1]) : ""
        }
        return fields
    }

    private static func decode(_ text: Substring) -> String {
        let spaced = text.replacingOccurrences(of: "+", with: " ")
        return spaced.removingPercentEncoding ?? spaced
    }
}
